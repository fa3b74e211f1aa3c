import HearthCRDT

/// One operation of a group's control log, as an audit tells it.
package struct AuditEntry: Sendable {
  /// The id of its event.
  package let id: RecordID
  /// When it was written, by the clock of the device that wrote it.
  package let time: HybridTime
  /// The device that wrote it.
  package let device: DeviceID
  /// Whose device that was when it wrote; nil for a stranger.
  package let person: PersonID?
  package let operation: ControlOperation
  /// Which of several histories of its device's log it is in, from 1; nil in a log that has one.
  package let history: Int?
  /// Why it has no effect, in words; nil where it has.
  package let void: String?
}

extension Membership {
  /// Every operation of the control log, causes first: who did what, when, by which device.
  package func audit() -> [AuditEntry] {
    guard let resolver = resolved?.resolver else { return [] }
    let words = Dictionary(
      voided.map { ($0.id, self.words(for: $0)) }, uniquingKeysWith: { first, _ in first })
    return resolver.log.items.indices.map { place in
      let item = resolver.log.items[place]
      return AuditEntry(
        id: item.id, time: item.version.time, device: item.device,
        person: resolver.persons[place] ?? device(item.device)?.person,
        operation: item.operation, history: item.branch.map { history($0) }, void: words[item.id])
    }
  }

  /// The place of a run among those of its life.
  private func history(_ run: Int) -> Int {
    let life = forks.runs[run].life
    return forks.runs[...run].count { $0.life == life }
  }

  /// How far a device said that it had got, and when; nil if it never did.
  package func lastHeard(of device: DeviceID) -> (
    time: HybridTime, frontiers: [ControlOperation.ZoneFrontier]
  )? {
    guard let resolver = resolved?.resolver else { return nil }
    for place in (resolver.index.writings[device] ?? []).reversed() where resolver.isLive[place] {
      if case .heartbeat(let frontiers) = resolver.log.items[place].operation {
        return (resolver.log.items[place].version.time, frontiers)
      }
    }
    return nil
  }
}
