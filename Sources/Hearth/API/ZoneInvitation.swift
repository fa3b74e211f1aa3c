import Foundation
import HearthCRDT
import HearthMembership
import HearthSync

/// An invitation to a zone, as its members see it; the link is known only to who made it.
public struct ZoneInvitation: Identifiable, Hashable, Sendable {
  /// Whether an invitation still lets somebody in.
  public enum State: String, Sendable {
    /// It can be used.
    case open
    /// All uses are used up.
    case used
    /// Somebody closed it.
    case closed
    /// Its time is over.
    case expired
  }

  /// The invitation's key, which is the same on every device.
  public let id: Key<ZoneInvitation>
  /// What those who join by it may do.
  public let role: ZoneRole
  /// Whether an owner or admin approves each newcomer.
  public let needsApproval: Bool
  /// The member whose further device it is for; nil if it is for somebody new.
  public let person: Key<ZoneMember>?
  /// The person who made it, who may have left; nil if that is not known.
  public let creator: Key<ZoneMember>?
  /// When it was made, by the clock of the device that made it.
  public let created: Date
  /// When it expires.
  public let expires: Date
  /// How many devices may use it.
  public let uses: Int
  /// How many devices may still use it.
  public let usesLeft: Int
  /// The people who joined by it.
  public let joined: [Key<ZoneMember>]
  /// Whether it still lets somebody in, by this device's clock.
  public let state: State
}

extension ZoneInvitation.State {
  /// Judges an invitation of the log by a clock.
  package init(of invite: InvitationRecord, nowMilliseconds: UInt64) {
    let isExpired = invite.operation.expiresMilliseconds < nowMilliseconds
    if invite.usesLeft == 0 {
      self = .used
    } else if isExpired {
      self = .expired
    } else {
      self = invite.isClosed ? .closed : .open
    }
  }
}

extension ZoneInvitation {
  init(_ invite: InvitationRecord, in membership: Membership, nowMilliseconds: UInt64) {
    let terms = invite.operation
    self.init(
      id: Key(terms.invite), role: ZoneRole(terms.role),
      needsApproval: terms.admission == .approve, person: terms.person.map { Key($0) },
      creator: membership.person(of: invite.creator).map { Key($0.id) },
      created: Date(milliseconds: invite.version.time.milliseconds),
      expires: Date(milliseconds: terms.expiresMilliseconds), uses: terms.maximumUses,
      usesLeft: invite.usesLeft, joined: invite.joins.map { Key($0) },
      state: State(of: invite, nowMilliseconds: nowMilliseconds))
  }
}

/// Somebody who asks to be let into a zone.
///
/// Compare the number by voice or face to face before approving: it proves that the request came
/// from the device in front of the person, and not from somebody who saw the link.
public struct ZoneJoinRequest: Identifiable, Sendable {
  let waiting: WaitingJoin

  /// The key of the device that asks.
  public var id: Key<ZoneDevice> { Key(waiting.request.device) }
  /// The person's own name for themselves, which proves nothing.
  public var personName: String { waiting.request.personName }
  /// The name of the device that asks.
  public var deviceName: String { waiting.request.deviceName }
  /// What the person may do once approved.
  public var role: ZoneRole { ZoneRole(waiting.role) }
  /// The name of the person who made the invitation.
  public var inviterName: String { waiting.inviterName }
  /// The invitation that the request uses.
  public var invitation: Key<ZoneInvitation> { Key(waiting.request.invite) }
  /// Thirty digits that the device that asks shows too.
  public var number: String { waiting.number }
  /// Whether others have used the invitation up, so that it cannot be approved any more.
  public var isTooLate: Bool { waiting.usedBy != nil }
}

/// The outcome of following an invitation's link.
public enum JoinResult: Sendable {
  /// This node is in the zone.
  case joined(HearthZone)
  /// The request was sent, and an owner or admin must approve it; the zone comes with a later sync.
  case awaitingApproval(AwaitedApproval)

  /// The zone; nil while somebody must approve.
  public var zone: HearthZone? {
    guard case .joined(let zone) = self else { return nil }
    return zone
  }
}

/// A request to be let in that this node has sent and that is not answered yet.
public struct AwaitedApproval: Hashable, Sendable {
  /// The name of the zone, as its invitation says.
  public let zoneName: String
  /// The name of the person who made the invitation.
  public let inviterName: String
  /// Thirty digits to show, which the person who approves sees too.
  public let number: String
  /// When it was sent.
  public let sent: Date
  /// Until when somebody can approve it; nil if that is not known.
  public let expires: Date?
  /// The name of the person who closed the invitation, as far as is known: nobody can approve the
  /// request any more.
  public let closedBy: String?

  init(_ pending: PendingJoin) {
    zoneName = pending.groupName
    inviterName = pending.inviterName
    number = pending.number
    sent = Date(milliseconds: pending.askedMilliseconds)
    expires = pending.expiresMilliseconds.map { Date(milliseconds: $0) }
    closedBy = pending.closedBy
  }
}
