import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// An invitation as the device keeps it that made it, until nobody can use it any more.
private struct KeptInvitation: Codable {
  let group: String
  let invite: String
  /// The link's secret, sealed to this device; at a relay the capsule's mailbox opens by it.
  let secret: Data
  /// The sealed capsule.
  let capsule: Data
}

// The files of invitations: whoever made one puts it back where it is damaged or gone.
extension Node {
  private static let invitationsFact = "invitations.kept"
  /// How many invitations are kept; of older ones a damaged file is not put right.
  private static let maximumKeptInvitations = 32

  private func keptInvitations() throws -> [KeptInvitation] {
    guard let encoded = try store.fact(Node.invitationsFact) else { return [] }
    return try JSONDecoder().decode([KeptInvitation].self, from: Data(encoded))
  }

  private func keep(_ invitations: [KeptInvitation]) throws {
    let encoded =
      invitations.isEmpty ? nil : Array(try JSONEncoder().encode(invitations))
    try store.transaction { try store.setFact(Node.invitationsFact, encoded) }
  }

  /// Keeps an invitation that this device has just made.
  func keep(_ made: MadeInvitation, to group: GroupID) throws {
    let sealed = try SealedBox.seal(
      Array(made.secret.text.utf8), to: engine.identity.publicKeys.boxKey)
    let kept = KeptInvitation(
      group: group.hex, invite: try identifier(made.secret.publicKeys.inviteID).hex,
      secret: Data(sealed), capsule: Data(made.capsule))
    try keep((try openInvitations() + [kept]).suffix(Node.maximumKeptInvitations))
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

  /// Puts the files of open invitations back where they are damaged or gone.
  ///
  /// In a folder with every round. A relay guards what it has, so it is asked only in a round that
  /// looks at everything, and when it was set back.
  func giveInvitations(
    to transport: any Transport, checking check: FileCheck, _ round: inout TransportReport
  ) async throws {
    let kept = try keptInvitations()
    guard !kept.isEmpty else { return }
    let open = try openInvitations()
    if open.count < kept.count {
      let stay = Set(open.map(\.invite))
      // By approval one that is used up still takes questions, until it is closed.
      var gone: Set<String> = []
      for invitation in kept where !stay.contains(invitation.invite) && isOver(invitation) {
        if await removed(invitation) { gone.insert(invitation.invite) }
      }
      try keep(try keptInvitations().filter { !gone.contains($0.invite) })
    }
    guard transport.canDecay || check == .all || round.isSetBack else { return }
    for invitation in open {
      let text = try SealedBox.open(Array(invitation.secret), with: engine.identity.boxPair)
      let secret = try InviteSecret(text: String(decoding: text, as: UTF8.self))
      let name = BlobName(kind: .capsule, scope: try identifier(secret.rendezvousID))
      lay(name.scope, in: try .rendezvous(of: secret, mayCreate: true), on: transport)
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

  /// Whether an invitation is closed, or its time is over.
  private func isOver(_ kept: KeptInvitation) -> Bool {
    guard let group = Identifier(hex: kept.group), membership(of: group).isActive(device) else {
      return true
    }
    let invite = membership(of: group).invites.first { $0.operation.invite.hex == kept.invite }
    return invite.map { $0.isClosed || $0.operation.expiresMilliseconds <= now() } ?? true
  }

  /// Takes the capsule of an invitation that is over from every transport of its household.
  ///
  /// - Returns: whether nothing of it is left there.
  private func removed(_ invitation: KeptInvitation) async -> Bool {
    do {
      let text = try SealedBox.open(Array(invitation.secret), with: engine.identity.boxPair)
      let secret = try InviteSecret(text: String(decoding: text, as: UTF8.self))
      let name = BlobName(kind: .capsule, scope: try identifier(secret.rendezvousID))
      guard let group = Identifier(hex: invitation.group) else { return true }
      for setting in try transports(of: group) {
        let transport = try transport(setting.path)
        lay(name.scope, in: try .rendezvous(of: secret, mayCreate: false), on: transport)
        try await transport.remove(name)
      }
      return true
    } catch let error as TransportError {
      // A relay that does not let this device in any more keeps what it has.
      return error.code == .relayRefused
    } catch {
      return true
    }
  }

  /// Opens an invitation's capsule as it lay on a transport.
  ///
  /// - Throws: `notFound` where it is damaged: as good as not there, and others may have it whole.
  func open(
    _ capsule: [UInt8], of link: InvitationLink, at place: String
  ) throws -> InvitationCapsule {
    do {
      return try InvitationCapsule(opening: capsule, with: link.secret)
    } catch let error as CryptoError {
      throw Node.damaged(at: place, because: error)
    }
  }

  /// What is told of an invitation whose file was spoilt.
  static func damaged(at place: String, because cause: any Error) -> HearthError {
    let subject =
      isRelay(place)
      ? "the invitation bundle at the relay"
      : "the invitation bundle in \(printable(place))"
    return HearthError(
      .notFound,
      "\(subject) is damaged: `hearth sync --check` on the device that made the invitation repairs "
        + "it, then join again; or ask for a new invitation", cause: cause)
  }
}
