import Foundation
import HearthCRDT
import HearthMembership
import HearthSync

/// A person who belongs to a zone.
///
/// A name proves nothing, as everybody chooses their own: the id tells people apart.
public struct ZoneMember: Identifiable, Hashable, Sendable {
  /// The person's key, which is the same on every device.
  public let id: Key<ZoneMember>
  /// The person's own name for themselves.
  public let name: String
  /// What the person may do.
  public let role: ZoneRole
  /// When the person joined, by the clock of the device that wrote it.
  public let since: Date
  /// The person's devices that belong to the zone, in order of name.
  public let devices: [ZoneDevice]
  /// Whether it is the person of this node.
  public let isMe: Bool
}

/// A device that belongs to a zone.
public struct ZoneDevice: Identifiable, Hashable, Sendable {
  /// The device's key, which is the same everywhere.
  public let id: Key<ZoneDevice>
  /// The name that its person gave it.
  public let name: String
  /// When it joined, by the clock of the device that wrote it.
  public let since: Date
  /// When it last wrote anything that arrived here, by its own clock; nil if it never did.
  public let lastSeen: Date?
  /// The number of changes here that it had not seen when it last reported.
  public let missingChanges: UInt64
  /// Whether it is this device.
  public let isThisDevice: Bool
}

/// An offer of a zone's ownership, which its addressee may accept.
public struct OwnershipTransfer: Identifiable, Hashable, Sendable {
  /// The offer's key, which is the same on every device.
  public let id: Key<OwnershipTransfer>
  /// The owner who offers.
  public let from: Key<ZoneMember>
  /// The person who may accept.
  public let to: Key<ZoneMember>
  /// When it was offered, by the clock of the device that wrote it.
  public let since: Date
}

extension Date {
  /// A moment of a node's clock.
  init(milliseconds: UInt64) {
    self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
  }
}

/// The people of one zone, looked up and changed.
struct ZonePeople: NodeWork {
  let core: NodeCore
  let zone: ZoneID

  /// The group whose people they are.
  func group() throws -> GroupID { try engine.zone(zone).group }

  /// The people with their devices, in order of name.
  func members() throws -> [ZoneMember] {
    let group = try group()
    let membership = membership(of: group)
    let progress = try ProgressReports(core: core).progress(in: group)
    return membership.people.sorted { ($0.name, $0.id) < ($1.name, $1.id) }.map { person in
      ZoneMember(
        id: Key(person.id), name: person.name, role: ZoneRole(person.role),
        since: Date(milliseconds: person.since.milliseconds),
        devices: membership.devices.filter { $0.person == person.id }
          .sorted { ($0.card.name, $0.id) < ($1.card.name, $1.id) }
          .map { device in shown(device, progress.first { $0.device == device.id }) },
        isMe: person.id == self.person)
    }
  }

  private func shown(_ device: MemberDevice, _ progress: DeviceProgress?) -> ZoneDevice {
    ZoneDevice(
      id: Key(device.id), name: device.card.name,
      since: Date(milliseconds: device.since.milliseconds),
      lastSeen: progress?.seenMilliseconds.map { Date(milliseconds: $0) },
      missingChanges: progress?.missing ?? 0, isThisDevice: device.id == self.device)
  }

  /// The open offers of the ownership.
  func transfers() throws -> [OwnershipTransfer] {
    membership(of: try group()).offers.map {
      OwnershipTransfer(
        id: Key($0.id), from: Key($0.from), to: Key($0.to),
        since: Date(milliseconds: $0.since.milliseconds))
    }
  }

  /// The group whose people may be changed: not that of the person's own devices.
  ///
  /// - Throws: `invalid` for the private database.
  func sharedGroup() throws -> GroupID {
    let state = try engine.zone(zone)
    guard state.database == .shared else {
      throw HearthError(.invalid, "the private database belongs to one person")
    }
    return state.group
  }

  /// Requires that a call for others is not about this person.
  func requireOther(_ person: PersonID, instead remedy: String) throws {
    guard person != self.person else { throw HearthError(.invalid, remedy) }
  }

  /// Requires that the owner does not leave the others without one.
  func requireMayLeave(_ group: GroupID) throws {
    guard membership(of: group).owner == person else { return }
    throw HearthError(
      .notAllowed, "the owner must transfer the zone to somebody else before leaving it")
  }
}
