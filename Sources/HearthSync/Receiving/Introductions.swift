import HearthCRDT
import HearthMembership

/// Which unknown devices may begin logs.
enum Introductions {
  /// Keeps the segments of known or admissible authors in a slice; the others stay pending.
  ///
  /// An author whom a member has seen is admitted in any case, even if the citing segment is itself
  /// pending. Thus all nodes converge on the same logs, whatever the order of arrival.
  static func introduce(
    _ slice: inout Slice, _ intake: Intake, in zone: ZoneState, _ membership: Membership,
    to room: inout AuthorRoom
  ) {
    guard slice.opened.contains(where: { $0.introduction != nil }) else { return }
    var places = membership.introductions.room
    let witnesses = witnesses(of: slice, intake, in: zone, membership)
    var admitted: [DeviceID: Bool] = [:]
    var unopened: [PendingSegment] = []
    slice.opened.removeAll { segment in
      guard let introduction = segment.introduction else { return false }
      let device = segment.author.device
      if admitted[device] == nil {
        let isCited = witnesses[device]?.contains { $0 != introduction.sponsor } ?? false
        let hasRight = places.admit(introduction, isCited: false)
        let isIn = hasRight || isCited && places.admit(introduction, isCited: true)
        if isIn { room.introduce(device, introduction, hasRight: hasRight, isCited: isCited) }
        admitted[device] = isIn
      }
      guard admitted[device] == false else {
        Probe.authorIntroducesItself.hit()
        return false
      }
      Probe.strangerWaits.hit()
      unopened.append(
        PendingSegment(digest: segment.digest, reason: .author, bytes: segment.bytes))
      return true
    }
    slice.unopened += unopened
  }

  /// The people whose devices have seen a device, by its id, as far as a slice and the pending
  /// segments show.
  private static func witnesses(
    of slice: Slice, _ intake: Intake, in zone: ZoneState, _ membership: Membership
  ) -> [DeviceID: Set<PersonID>] {
    var witnesses: [DeviceID: Set<PersonID>] = [:]
    func note(_ seen: some Sequence<Author>, by author: Author) {
      guard let device = membership.device(author.device), device.isActive else { return }
      for author in seen { witnesses[author.device, default: []].insert(device.person) }
    }
    for segment in slice.opened {
      for change in segment.changes {
        note(change.seen.heads.lazy.map(\.author), by: segment.author)
      }
    }
    for entry in intake.waiting.values.map(\.entry) {
      guard let author = entry.author(in: zone) else { continue }
      note(entry.wait.seen.entries.lazy.map(\.author), by: author)
    }
    return witnesses
  }

  /// The authors that a zone admits.
  static func room(of zone: ZoneState, in engine: Engine<some Store>) throws -> AuthorRoom {
    let control = zone.kind == .control ? nil : try? engine.controlZone(of: zone.group)
    let sponsors = try Sponsors(of: control?.id ?? zone.id, in: engine.store)
    return AuthorRoom(
      engine.membership(of: zone.group), sponsors: sponsors.people, control: control)
  }
}
