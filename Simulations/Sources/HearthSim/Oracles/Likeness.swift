import HearthCRDT
import HearthRelayProtocol
import HearthStore
import HearthSync

// What looks at a family at rest have in common.
extension SimDevice {
  /// Whether it began from a snapshot and holds a change that claims to have seen what its author
  /// cannot have: below a snapshot nobody can compare, so it differs there (decision 0061).
  private func acceptedLie(in home: ZoneID) throws -> Bool {
    let dots = lieDots()
    guard !dots.isEmpty, try engine().store.snapshots.base(of: home) != nil else { return false }
    let frontier = try engine().zone(home).frontier
    return dots.contains { frontier.covers($0) }
  }

  /// Whether another device knows the same changes and shows the same records.
  func agrees(with other: SimDevice, in home: ZoneID) throws -> Bool {
    if try acceptedLie(in: home) || other.acceptedLie(in: home) {
      SimProbe.lieBelowSnapshot.hit()
      return true
    }
    let (left, right) = (try engine(), try other.engine())
    return try left.zone(home).frontier == right.zone(home).frontier
      && left.store.read { try left.digest(of: home) }
        == right.store.read { try right.digest(of: home) }
  }

  /// Puts into another's copy of the folder what that one lacks.
  func giveFiles(to other: SimDevice, withSnapshots: Bool = true) {
    for file in folder.names {
      if case .blob(let name) = file, name.kind == .snapshot, !withSnapshots { continue }
      guard other.folder.files[file] == nil, let bytes = folder.files[file] else { continue }
      other.folder.put(file, bytes)
    }
  }

  /// One round that must not fail.
  func exchange(at time: UInt64) throws {
    if let failure = try sync(at: time).failure { throw StepFailure(failure) }
  }
}

extension SimNet {
  /// What a live line tells is the log for a minute, however slow it is; then the relay is asked.
  func outwaitLiveLines() { run(upTo: RelayClientTiming().confirmedMilliseconds + 1) }
}
