import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// A request to join, as an admin sees it.
package struct WaitingJoin: Sendable {
  package let request: JoinRequest
  /// Thirty digits that the newcomer's device shows too.
  package let number: String
  /// What the newcomer may do.
  package let role: Role
  /// Who made the invitation.
  package let inviterName: String
  /// Who used the invitation up, if it can admit nobody any more.
  package let usedBy: [String]?
}

/// Answers requests to join, as an owner or admin.
struct JoinApproval: NodeWork {
  let core: NodeCore

  /// The requests to join a group that lie on the transports and that this device can read, in
  /// order of person's name.
  func waiting(of group: GroupID) async throws -> [WaitingJoin] {
    let membership = membership(of: group)
    guard let own = membership.role(of: device), own.rank >= Role.admin.rank else { return [] }
    var found: [DeviceID: WaitingJoin] = [:]
    let invites = membership.invites.filter { $0.operation.admission == .approve && !$0.isClosed }
    for setting in try transports.list(of: group) where !invites.isEmpty {
      let transport = try connections.transport(setting.path)
      for invite in invites {
        try await visitRequests(by: invite.operation, on: transport) { bytes in
          guard let request = try? ApprovalRequests(engine: engine).open(request: bytes, to: group),
            request.invite == invite.operation.invite
          else { return }
          found[request.device] = WaitingJoin(
            request: request,
            number: JoinNumber.text(
              group: invite.operation.person == nil ? group : .zero,
              invite: invite.operation.person == nil ? request.invite : .zero,
              device: request.device, person: request.person),
            role: invite.operation.role,
            inviterName: membership.person(of: invite.creator)?.name ?? "",
            usedBy: invite.usesLeft > 0
              ? nil : invite.joins.compactMap { membership.person($0)?.name })
        }
      }
    }
    return found.values.sorted {
      ($0.request.personName, $0.request.device) < ($1.request.personName, $1.request.device)
    }
  }

  /// The requests by invitations that are closed and can admit nobody any more.
  func ended(of group: GroupID) async throws -> [JoinRequest] {
    let membership = membership(of: group)
    guard let own = membership.role(of: device), own.rank >= Role.admin.rank else { return [] }
    let invites = membership.invites.filter { $0.operation.admission == .approve && $0.isClosed }
    var found: [JoinRequest] = []
    for setting in try transports.list(of: group) {
      let transport = try connections.transport(setting.path)
      for invite in invites {
        try await visitRequests(by: invite.operation, on: transport) { bytes in
          guard let request = try? ApprovalRequests(engine: engine).open(request: bytes, to: group),
            request.invite == invite.operation.invite
          else { return }
          found.append(request)
        }
      }
    }
    return found
  }

  /// Closes invitations by approval that are over, once nobody waits for an answer by them.
  ///
  /// - Parameters:
  ///   - settings: the transports that answered; of others the requests are not known.
  ///   - unread: groups of which a transport refused a zone.
  /// - Returns: whether there were any.
  func closeSettledInvitations(
    over settings: [TransportSetting], except unread: Set<GroupID>
  ) async throws -> Bool {
    var hasClosed = false
    for group in ExchangeScope(engine: engine).exchangedGroups where !unread.contains(group) {
      let carriers = try transports.list(of: group)
      guard !carriers.isEmpty, carriers.allSatisfy({ settings.contains($0) }) else { continue }
      for invite in ApprovalRequests(engine: engine).settledInvites(in: group) {
        var isAwaited = false
        for carrier in carriers where !isAwaited {
          let isWhole = try await visitRequests(
            by: invite, on: connections.transport(carrier.path)
          ) { bytes in
            let isOpen = ApprovalRequests(engine: engine).isUnanswered(
              request: bytes, by: invite.invite, in: group)
            isAwaited = isAwaited || isOpen
          }
          isAwaited = isAwaited || !isWhole
        }
        // Others may have done so meanwhile.
        guard !isAwaited,
          ApprovalRequests(engine: engine).settledInvites(in: group).contains(invite)
        else { continue }
        try GroupPolicy.closeInvitation(
          invite.invite, of: group, in: &engine, nowMilliseconds: now())
        announce()
        hasClosed = true
      }
    }
    return hasClosed
  }

  /// Visits the files of the requests by an invitation, one after the other.
  ///
  /// What lies there and cannot be opened is for others or rubbish.
  ///
  /// - Returns: false where one could not be read.
  @discardableResult
  private func visitRequests(
    by invite: ControlOperation.InviteCreate, on transport: any Transport,
    _ visit: ([UInt8]) -> Void
  ) async throws -> Bool {
    let access = try connections.requestAccess(of: invite)
    for slot in 0..<JoinRequests.maximumRequests {
      let name = ApprovalNames.requestName(of: invite.invite, slot: slot)
      connections.setMailbox(of: name.scope, to: access, on: transport)
      do {
        guard let bytes = try await transport.fetch(name) else { return true }
        visit(bytes)
      } catch is TransportError {
        return false
      }
    }
    return true
  }

  /// Admits the person who asked, and stores the answer on every transport of the household.
  ///
  /// - Throws: `notAllowed` with the reason.
  func approve(_ waiting: WaitingJoin, named groupName: String) throws {
    if let names = waiting.usedBy {
      throw HearthError(
        .notAllowed,
        "this invitation was used by \(names.joined(separator: ", ")) and admits nobody else: "
          + "make another one with `hearth invite --approve`")
    }
    let request = waiting.request
    var draft = engine
    let moment = now()
    try store.transaction {
      draft = engine
      let answer = try Approval.approve(
        request, named: groupName, in: &draft, nowMilliseconds: moment)
      let kept = KeptAnswer(
        groupID: request.group.hex, deviceID: request.device.hex, scope: answer.name.scope.hex,
        bytes: Data(answer.bytes), madeMilliseconds: moment, inviteID: request.invite.hex)
      try store.facts.set(JoinAnswers.fact, to: try JoinAnswers(core: core).kept() + [kept])
    }
    engine = draft
    announce()
  }
}
