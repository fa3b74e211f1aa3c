import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// An invitation as its maker's device stores it, until nobody can use it.
private struct KeptInvitation: Codable {
  let group: String
  let invite: String
  /// The link's secret, sealed to this device; at a relay the bundle's mailbox opens by it.
  let secret: Data
  /// The sealed bundle.
  let capsule: Data

  /// Returns the link's secret.
  func opened(with pair: BoxKeyPair) throws -> InviteSecret {
    let text = try SealedBox.open(Array(secret), with: pair)
    return try InviteSecret(text: String(decoding: text, as: UTF8.self))
  }
}

/// The ids of the closed invitations whose bundles this device has removed, by transport.
private struct RemovedBundles: Codable {
  private static let fact = JSONFact.named("invitations.removed", of: RemovedBundles.self)
  private var invites: [String: [String]] = [:]

  private init() {}

  init(in store: ReplicaStore) throws {
    self = try store.facts.value(of: RemovedBundles.fact) ?? RemovedBundles()
  }

  func save(in store: ReplicaStore) throws {
    try store.transaction { try store.facts.set(RemovedBundles.fact, to: self) }
  }

  func contains(_ invite: String, at place: String) -> Bool {
    invites[place]?.contains(invite) ?? false
  }

  /// Adds what was removed from a transport, and forgets transports that are gone.
  mutating func add(_ gone: [String], at place: String, among places: [String]) {
    invites = invites.filter { places.contains($0.key) }
    invites[place] = Set((invites[place] ?? []) + gone).sorted()
  }
}

/// The bundles of invitations on the transports.
///
/// The maker's device stores a damaged or missing bundle again; each device that may close the
/// invitation removes the bundle once it is closed.
struct InvitationBundles: NodeWork {
  let core: NodeCore

  private static let fact = JSONFact.named("invitations.kept", of: [KeptInvitation].self)
  /// How many invitations are kept; of older ones a damaged file is not put right.
  private static let maximumKeptInvitations = 32
  /// How many bundles are removed in one exchange; at a relay each is a mailbox to open.
  private static let maximumRemovals = 8

  private func keptInvitations() throws -> [KeptInvitation] {
    try store.facts.value(of: InvitationBundles.fact) ?? []
  }

  private func keep(_ invitations: [KeptInvitation]) throws {
    let kept = invitations.isEmpty ? nil : invitations
    try store.transaction { try store.facts.set(InvitationBundles.fact, to: kept) }
  }

  /// Keeps an invitation that this device has just made.
  func keep(_ made: MadeInvitation, to group: GroupID) throws {
    let sealed = try SealedBox.seal(
      Array(made.secret.text.utf8), to: engine.identity.publicKeys.boxKey)
    let kept = KeptInvitation(
      group: group.hex, invite: try identifier(made.secret.publicKeys.inviteID).hex,
      secret: Data(sealed), capsule: Data(made.capsule))
    try keep((try keptInvitations() + [kept]).suffix(InvitationBundles.maximumKeptInvitations))
  }

  /// Those of the kept invitations by which somebody can still join.
  private func openInvitations() throws -> [KeptInvitation] {
    let moment = now()
    return try keptInvitations().filter { kept in
      guard let group = Identifier(hex: kept.group), membership(of: group).isActive(device) else {
        return false
      }
      return membership(of: group).invites.contains {
        !$0.isClosed && $0.operation.invite.hex == kept.invite && $0.usesLeft > 0
          && $0.operation.expiresMilliseconds > moment
      }
    }
  }

  /// Puts the files of open invitations back where they are damaged or gone, and removes those of
  /// closed ones.
  ///
  /// Open ones are looked for in a folder with every round. A relay guards what it has, so it is
  /// asked only in a round that looks at everything, and when it was set back.
  func give(
    to transport: any Transport, at setting: TransportSetting, checking check: FileCheck,
    _ round: inout TransportReport
  ) async throws {
    if round.refusals.isEmpty {
      try await removeBundles(from: transport, at: setting, checking: check)
    }
    guard transport.canDecay || check == .all || round.isSetBack else { return }
    for invitation in try openInvitations() {
      let secret = try invitation.opened(with: engine.identity.boxPair)
      let name = BlobName(kind: .capsule, scope: try identifier(secret.rendezvousID))
      connections.setMailbox(
        of: name.scope, to: try .rendezvous(of: secret, mayCreate: true), on: transport)
      let right = Array(invitation.capsule)
      let words: String
      do {
        let present = try await transport.fetch(name)
        if present == right { continue }
        words = present == nil ? "which was missing" : "which was damaged"
      } catch let error as TransportError where error.isOfFile {
        words = "which was damaged"
      }
      try await transport.publish(name, right)
      round.mended("an invitation bundle (\(name.scope.hex.prefix(8))), \(words)")
    }
  }

  /// Removes the bundles of closed invitations from a transport, each once, or all again in a round
  /// that looks at everything.
  ///
  /// The name of a bundle follows from the invitation's id, as the device that made the link may be
  /// lost. A relay that does not let this device in has no such mailbox any more, or one that
  /// belongs to nothing; any other failure is for the next exchange.
  private func removeBundles(
    from transport: any Transport, at setting: TransportSetting, checking check: FileCheck
  ) async throws {
    let before = try RemovedBundles(in: store)
    let closed = ExchangeScope(engine: engine).exchangedGroups.filter {
      transports.groups(over: setting).contains($0)
    }
    .flatMap { EntranceDuties(engine: engine).closedInvites(in: $0) }
    let due = closed.filter { check == .all || !before.contains($0.hex, at: setting.path) }
    guard !due.isEmpty else { return }
    let kept = try keptInvitations()
    var gone: [String] = []
    do {
      for invite in due.prefix(check == .all ? due.count : InvitationBundles.maximumRemovals) {
        let name = BlobName.bundle(of: invite)
        let secret = kept.first { $0.invite == invite.hex }
          .flatMap { try? $0.opened(with: engine.identity.boxPair) }
        connections.setMailbox(
          of: name.scope, to: .rendezvous(of: invite, with: secret), on: transport)
        do {
          try await transport.remove(name)
        } catch let error as TransportError where error.code == .relayRefused {
          // Nothing of it is within reach.
        }
        gone.append(invite.hex)
      }
    } catch is TransportError {
      // What is left is tried again.
    }
    // An exchange with another transport may have noted more meanwhile.
    var removed = try RemovedBundles(in: store)
    removed.add(gone, at: setting.path, among: try transports.list().map(\.path))
    try removed.save(in: store)
    // The secret of a link is kept until its bundle is gone everywhere.
    let over = Set(closed.map(\.hex))
    try keep(
      try keptInvitations().filter { kept in
        guard let group = Identifier(hex: kept.group), membership(of: group).isActive(device)
        else { return false }
        return try !over.contains(kept.invite)
          || !transports.list(of: group).allSatisfy {
            removed.contains(kept.invite, at: $0.path)
          }
      })
  }

  /// Opens an invitation's bundle as it lay on a transport.
  ///
  /// - Throws: `notFound` where it is damaged: as good as not there, and others may have it whole.
  func open(
    _ capsule: [UInt8], of link: InvitationLink, at place: String
  ) throws -> InvitationCapsule {
    do {
      return try InvitationCapsule(opening: capsule, with: link.secret)
    } catch let error as CryptoError {
      throw InvitationBundles.damaged(at: place, because: error)
    }
  }

  /// The error for an invitation whose bundle is damaged.
  static func damaged(at place: String, because cause: any Error) -> HearthError {
    let subject =
      TransportAddress.isRelay(place)
      ? "the invitation bundle at the relay"
      : "the invitation bundle in \(printable(place))"
    return HearthError(
      .notFound,
      "\(subject) is damaged: `hearth sync --check` on the device that made the invitation repairs "
        + "it, then join again; or ask for a new invitation", cause: cause)
  }
}
