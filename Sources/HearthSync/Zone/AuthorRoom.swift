import HearthCRDT
import HearthMembership

/// Decides which authors a group's zones admit.
///
/// Incarnations enter through the control log: an author of records must have written there first.
/// Each person has a quota of incarnations for all their devices. An incarnation beyond the quota
/// is admitted only if another person's device cites it, so that all nodes converge on the same
/// logs whatever arrived first. Such incarnations have a quota of their own (decision 0061).
struct AuthorRoom: Sendable {
  /// The devices of one person, which share a quota.
  private let sharers: [DeviceID: [DeviceID]]
  /// The control zone, if the zone holds records; nil if the zone itself is the control zone.
  private let control: ZoneState?

  init(_ membership: Membership, control: ZoneState?) {
    let devices = Dictionary(grouping: membership.allDevices, by: \.person)
    var sharers: [DeviceID: [DeviceID]] = [:]
    for device in membership.allDevices { sharers[device.id] = devices[device.person]?.map(\.id) }
    self.sharers = sharers
    self.control = control
  }

  /// Whether an author's changes may be applied to a zone.
  func admits(_ author: Author, in zone: ZoneState) -> Bool {
    if zone.head(of: author).sequence > 0 { return true }
    if let control {
      return control.head(of: author).sequence > 0 || !isCrowded(author.device, in: control)
    }
    guard zone.heads.count < Limits.maximumAuthors else { return false }
    return !isCrowded(author.device, in: zone)
      || isCitedByOthers(author, in: zone) && overflow(of: zone) < Limits.maximumCitedLives
  }

  /// Whether an author without changes in a zone may still be admitted to it later.
  ///
  /// An incarnation beyond its person's quota is admitted once others cite it. A change that cites
  /// such an incarnation therefore waits for it. The exceptions are the control log, where the
  /// citation itself admits the incarnation, and a quota that is exhausted, because it stays
  /// exhausted.
  func isAwaited(_ author: Author, in zone: ZoneState) -> Bool {
    if zone.head(of: author).sequence > 0 { return true }
    guard let control else { return admits(author, in: zone) }
    return isAwaitedInControl(author) || control.head(of: author).sequence > 0
  }

  /// Whether the control log, which must admit an author of records first, may still admit the
  /// author.
  func isAwaitedInControl(_ author: Author) -> Bool {
    guard let control, control.head(of: author).sequence == 0 else { return true }
    return control.heads.count < Limits.maximumAuthors
      && (!isCrowded(author.device, in: control)
        || overflow(of: control) < Limits.maximumCitedLives)
  }

  /// Whether a person's devices have used up their quota of incarnations.
  private func isCrowded(_ device: DeviceID, in zone: ZoneState) -> Bool {
    lives(of: device, in: zone) >= Limits.maximumLives
  }

  /// Whether the quota of a person was exhausted for someone who had seen this much of the control
  /// log.
  ///
  /// The answer depends only on `controlSeen`, because the local state would give another answer
  /// later.
  func hadNoPlace(for author: Author, knowing controlSeen: Frontier) -> Bool {
    guard control != nil, controlSeen[author] == 0 else { return false }
    let own = sharers[author.device] ?? [author.device]
    return controlSeen.entries.count { own.contains($0.author.device) } >= Limits.maximumLives
  }

  /// The number of incarnations with changes in a zone, of all devices of a device's person.
  func lives(of device: DeviceID, in zone: ZoneState) -> Int {
    (sharers[device] ?? [device]).reduce(0) { $0 + zone.lives(of: $1) }
  }

  private func isCitedByOthers(_ author: Author, in zone: ZoneState) -> Bool {
    let own = sharers[author.device] ?? [author.device]
    return zone.heads.contains { head in
      head.seen[author] > 0 && !own.contains(head.author.device)
    }
  }

  /// The number of incarnations beyond the quotas of their persons.
  private func overflow(of zone: ZoneState) -> Int {
    var counts: [DeviceID: Int] = [:]
    for head in zone.heads {
      counts[sharers[head.author.device]?.first ?? head.author.device, default: 0] += 1
    }
    return counts.values.reduce(0) { $0 + max(0, $1 - Limits.maximumLives) }
  }
}
