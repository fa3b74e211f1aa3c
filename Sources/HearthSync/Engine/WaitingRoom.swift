import HearthCRDT

/// The limits for pending segments in a zone, and the choice of what to drop beyond them.
package enum WaitingRoom {
  /// A group of pending segments with a common limit.
  enum Pool: Hashable, Comparable {
    /// All segments that nobody could verify.
    case unverified
    /// All segments of the zone.
    case zone
    /// The segments of one device, by its opaque tag.
    case device(Identifier)
  }

  /// The most bytes of pending segments in a zone.
  package static let maximumBytes = 64 << 20
  /// The most bytes of one device's pending segments in a zone.
  package static let maximumDeviceBytes = 16 << 20
  /// The most pending segments of one device in a zone.
  package static let maximumDeviceSegments = 4_096
  /// The most bytes of unverified pending segments in a zone.
  ///
  /// Anyone who can write to a folder can create some, under any name.
  package static let maximumUnverifiedBytes = 4 << 20
  /// The most unverified pending segments in a zone.
  package static let maximumUnverifiedSegments = 512

  /// The reason why a segment may not stay pending.
  enum Excess {
    case unverified
    case device
    case zone

    /// The pool whose limit the segment would exceed.
    func pool(of entry: PendingEntry) -> Pool {
      switch self {
      case .unverified: .unverified
      case .device: .device(entry.authorTag)
      case .zone: .zone
      }
    }

    var words: String {
      switch self {
      case .unverified:
        "the segments pending for unknown people or a newer program already exceed "
          + "\(maximumUnverifiedBytes >> 20) MiB or \(maximumUnverifiedSegments) segments"
      case .device:
        "the segments of this device pending for missing changes already exceed "
          + "\(maximumDeviceBytes >> 20) MiB or \(maximumDeviceSegments) segments"
      case .zone:
        "the segments pending for changes, keys or people already exceed \(maximumBytes >> 20) MiB"
      }
    }
  }

  /// The segments beyond the limits, by digest; of each log those farthest from its end.
  ///
  /// For each log, one partly applied segment and one for which the log is held back are exempt:
  /// the log needs them, and they are bounded like applied segments. O(n log n).
  static func excess(of entries: [PendingEntry]) -> [Identifier: Excess] {
    var room = Room(bytes: maximumBytes, segments: .max)
    var unverified = Room(bytes: maximumUnverifiedBytes, segments: maximumUnverifiedSegments)
    var devices: [Identifier: Room] = [:]
    var excess: [Identifier: Excess] = [:]
    if Mutant.waitsWithoutBound.isActive { return excess }
    let ordered = entries.sorted {
      $0.first != $1.first ? $0.first < $1.first : PendingEntry.isBefore($0, $1)
    }
    var partlyApplied: Set<TagAuthor> = []
    var heldBack: Set<TagAuthor> = []
    for entry in ordered {
      let log = TagAuthor(tag: entry.authorTag, incarnation: entry.incarnation)
      if entry.wait.isPartlyApplied, partlyApplied.insert(log).inserted { continue }
      if entry.wait.claim != nil, heldBack.insert(log).inserted { continue }
      if entry.reason == .author || entry.reason == .format {
        if !unverified.take(entry) { excess[entry.digest] = .unverified }
        continue
      }
      let new = Room(bytes: maximumDeviceBytes, segments: maximumDeviceSegments)
      if !devices[entry.authorTag, default: new].take(entry) {
        excess[entry.digest] = .device
      } else if !room.take(entry) {
        excess[entry.digest] = .zone
      }
    }
    return excess
  }

  private struct Room {
    var bytes: Int
    var segments: Int

    mutating func take(_ entry: PendingEntry) -> Bool {
      guard entry.byteCount <= bytes, segments > 0 else { return false }
      bytes -= entry.byteCount
      segments -= 1
      return true
    }
  }
}
