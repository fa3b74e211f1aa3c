import Foundation
import HearthCRDT
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// An answer for a newcomer, kept until the newcomer has fetched it.
struct KeptAnswer: Codable, Equatable {
  let groupID: String
  let deviceID: String
  let scope: String
  let bytes: Data
  let madeMilliseconds: UInt64
  /// The invitation of the request, in whose mailbox a relay keeps the answer.
  var inviteID: String?
}

/// The answers to requests to join, kept until the newcomers have them.
struct JoinAnswers: NodeWork {
  let core: NodeCore

  static let fact = JSONFact.named("joins.answers", of: [KeptAnswer].self)
  /// How long an answer is kept for a newcomer who never fetches it: 30 days.
  static let keptMilliseconds: UInt64 = 30 * 24 * 60 * 60 * 1_000

  /// Returns the relay mailbox in which a newcomer looks for an answer.
  private func mailbox(of answer: KeptAnswer) throws -> MailboxAccess? {
    guard let group = Identifier(hex: answer.groupID),
      let invite = membership(of: group).invites.first(where: {
        $0.operation.invite.hex == answer.inviteID
      })
    else { return nil }
    return try connections.requestAccess(of: invite.operation)
  }

  func kept() throws -> [KeptAnswer] {
    try store.facts.value(of: JoinAnswers.fact) ?? []
  }

  /// Notifies people who asked by a closed invitation and cannot read the log.
  func publishRemovalNotices(over settings: [TransportSetting]) async throws {
    for group in ExchangeScope(engine: engine).exchangedGroups {
      let notices = try RemovalNotices.notices(in: group, by: engine, nowMilliseconds: now())
      guard !notices.isEmpty else { continue }
      for setting in try transports.list(of: group) where settings.contains(setting) {
        guard let transport = try? connections.transport(setting.path) else { continue }
        for notice in notices {
          connections.setMailbox(
            of: notice.name.scope, to: try connections.requestAccess(of: notice.invite),
            on: transport)
          // An unreachable folder gets it at the next exchange.
          if (try? await transport.fetch(notice.name)) != nil { continue }
          try? await transport.publish(notice.name, try notice.bytes())
        }
      }
    }
  }

  /// Publishes answers where newcomers look for them, until the newcomers have written something.
  func publish(over settings: [TransportSetting]) async throws {
    let answers = try kept()
    guard !answers.isEmpty else { return }
    let waiting = answers.filter { answer in
      guard let group = Identifier(hex: answer.groupID),
        let device = Identifier(hex: answer.deviceID),
        engine.membership(of: group).isActive(device),
        now() < answer.madeMilliseconds + JoinAnswers.keptMilliseconds
      else { return false }
      return !engine.zones.contains { zone in
        zone.group == group
          && zone.heads.contains {
            $0.author.device == device && $0.time.milliseconds > answer.madeMilliseconds
          }
      }
    }
    // All answers to one device share one name. There the last answer counts, by which the device
    // was admitted, and nobody replaces it with another one.
    let last = Dictionary(waiting.map { ($0.scope, $0) }, uniquingKeysWith: { $1 })
    let due = waiting.filter { answer in
      guard last[answer.scope] == answer, let group = Identifier(hex: answer.groupID),
        let device = Identifier(hex: answer.deviceID)
      else { return false }
      return ApprovalRequests(engine: engine).approver(of: device, in: group) == self.device
    }
    for setting in settings {
      guard let transport = try? connections.transport(setting.path) else { continue }
      for answer in due {
        guard let scope = Identifier(hex: answer.scope),
          let group = GroupID(hex: answer.groupID),
          transports.groups(over: setting).contains(group)
        else { continue }
        let name = BlobName(kind: .capsule, scope: scope)
        if let access = try mailbox(of: answer) {
          connections.setMailbox(of: scope, to: access, on: transport)
        }
        // An unreachable folder gets it at the next exchange.
        if let held = try? await transport.fetch(name), held == Array(answer.bytes) { continue }
        try? await transport.publish(name, Array(answer.bytes))
      }
    }
    // Another process may have added some meanwhile.
    let done = answers.filter { !waiting.contains($0) }
    guard !done.isEmpty else { return }
    let rest = try kept().filter { !done.contains($0) }
    try store.transaction {
      try store.facts.set(JoinAnswers.fact, to: rest.isEmpty ? nil : rest)
    }
  }
}
