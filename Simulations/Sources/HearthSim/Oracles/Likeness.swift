import HearthCRDT
import HearthStore
import HearthSync

// What looks at a family at rest have in common.
extension SimDevice {
  /// Whether another device knows the same changes and shows the same records.
  func agrees(with other: SimDevice, in home: ZoneID) throws -> Bool {
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
