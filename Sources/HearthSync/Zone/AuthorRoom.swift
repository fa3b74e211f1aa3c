import HearthCRDT
import HearthMembership

/// Which authors have a place in a group's zones.
///
/// Lives enter through the members' log: an author of records must have written there first, and
/// each person has room for so many lives of all their devices. A life beyond that has a place only
/// where somebody else has seen it, so that all come to hold the same logs whatever reached them
/// first, and those places are counted apart from everybody's own (decision 0061).
struct AuthorRoom: Sendable {
  /// Who shares a room: the devices of one person.
  private let sharers: [DeviceID: [DeviceID]]
  /// The members' log, for a zone of records; nil where that is the zone itself.
  private let control: ZoneState?

  init(_ membership: Membership, control: ZoneState?) {
    let devices = Dictionary(grouping: membership.allDevices, by: \.person)
    var sharers: [DeviceID: [DeviceID]] = [:]
    for device in membership.allDevices { sharers[device.id] = devices[device.person]?.map(\.id) }
    self.sharers = sharers
    self.control = control
  }

  /// Whether changes of an author may be applied to a zone.
  func admits(_ author: Author, in zone: ZoneState) -> Bool {
    if zone.head(of: author).sequence > 0 { return true }
    if let control {
      return control.head(of: author).sequence > 0 || !isCrowded(author.device, in: control)
    }
    guard zone.heads.count < Limits.maximumAuthors else { return false }
    return !isCrowded(author.device, in: zone)
      || isCitedByOthers(author, in: zone) && overflow(of: zone) < Limits.maximumCitedLives
  }

  /// Whether changes of an author, who has none here, may still be applied to a zone some day.
  ///
  /// A life beyond its person's room gets a place once others have seen it. So what cites one waits
  /// for it, but in the members' log, where citing is what gives the place; and not where all
  /// places are taken, as they stay so.
  func isAwaited(_ author: Author, in zone: ZoneState) -> Bool {
    if zone.head(of: author).sequence > 0 { return true }
    guard let control else { return admits(author, in: zone) }
    return isAwaitedInControl(author) || control.head(of: author).sequence > 0
  }

  /// The same of the members' log, where an author of records must have a place.
  func isAwaitedInControl(_ author: Author) -> Bool {
    guard let control, control.head(of: author).sequence == 0 else { return true }
    return control.heads.count < Limits.maximumAuthors
      && (!isCrowded(author.device, in: control)
        || overflow(of: control) < Limits.maximumCitedLives)
  }

  /// Whether a person's devices have begun as many lives as they may.
  private func isCrowded(_ device: DeviceID, in zone: ZoneState) -> Bool {
    lives(of: device, in: zone) >= Limits.maximumLives
  }

  /// Whether somebody who had seen so much of the members' log had no place left for a life.
  ///
  /// By what was seen then, and not by what is here: that would be another answer later.
  func hadNoPlace(for author: Author, knowing controlSeen: Frontier) -> Bool {
    guard control != nil, controlSeen[author] == 0 else { return false }
    let own = sharers[author.device] ?? [author.device]
    return controlSeen.entries.count { own.contains($0.author.device) } >= Limits.maximumLives
  }

  /// How many lives of all devices of a device's person have changes in a zone.
  func lives(of device: DeviceID, in zone: ZoneState) -> Int {
    (sharers[device] ?? [device]).reduce(0) { $0 + zone.lives(of: $1) }
  }

  private func isCitedByOthers(_ author: Author, in zone: ZoneState) -> Bool {
    let own = sharers[author.device] ?? [author.device]
    return zone.heads.contains { head in
      head.seen[author] > 0 && !own.contains(head.author.device)
    }
  }

  /// How many lives are here beyond the rooms of their persons.
  private func overflow(of zone: ZoneState) -> Int {
    var counts: [DeviceID: Int] = [:]
    for head in zone.heads {
      counts[sharers[head.author.device]?.first ?? head.author.device, default: 0] += 1
    }
    return counts.values.reduce(0) { $0 + max(0, $1 - Limits.maximumLives) }
  }
}
