import HearthCRDT
import HearthMembership

/// Which unknown devices may begin logs.
enum Introductions {
  /// Adds the segments of admissible unknown devices to a slice's opened ones; the others stay
  /// pending.
  ///
  /// An author whom a member has seen is admitted in any case, even if the citing segment is itself
  /// pending. Thus all nodes converge on the same logs, whatever the order of arrival. A device has
  /// its proof checked only if it would have a slot, so that a crowd costs no more signatures than
  /// it may take slots. A device that has a proof and did not sign its segment is refused.
  static func introduce(
    _ slice: inout Slice, _ intake: Intake, in zone: ZoneState, _ membership: Membership,
    to room: inout AuthorRoom, _ report: inout ReceiveReport
  ) {
    guard !slice.introducing.isEmpty else { return }
    let opener = SegmentOpener(zone: zone, membership: membership)
    var places = membership.introductions.room
    let witnesses = witnesses(of: slice, intake, in: zone, membership)
    var admitted: Set<DeviceID> = []
    for (segment, claim) in slice.introducing {
      let device = segment.author.device
      let citing = witnesses[device] ?? []
      func isCited(apartFrom sponsor: PersonID?) -> Bool { citing.contains { $0 != sponsor } }
      let mayBeIn =
        admitted.contains(device)
        || places.mayAdmit(claim, isCited: claim.sponsors.contains { isCited(apartFrom: $0) })
      do {
        if mayBeIn, let introduction = try opener.proven(segment, claim) {
          if !admitted.contains(device) {
            let isCited = isCited(apartFrom: introduction.sponsor)
            let hasRight = places.admit(introduction, isCited: false)
            if hasRight || isCited && places.admit(introduction, isCited: true) {
              room.introduce(device, introduction, hasRight: hasRight, isCited: isCited)
              admitted.insert(device)
            }
          }
          if admitted.contains(device) {
            Probe.authorIntroducesItself.hit()
            slice.opened.append(segment)
            report.introduced.append(segment.changes)
            continue
          }
        }
        Probe.strangerWaits.hit()
        slice.unopened.append(
          PendingSegment(digest: segment.digest, reason: .author, bytes: segment.bytes))
      } catch {
        report.refuse(segment.bytes, digest: segment.digest, error)
      }
    }
    slice.introducing = []
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
    var room = AuthorRoom(
      engine.membership(of: zone.group), sponsors: sponsors.people, control: control)
    if control == nil { room.count(in: zone) }
    return room
  }
}
