import HearthCRDT

/// How much may wait in a zone, and what must leave where there is more.
package enum WaitingRoom {
  /// What shares one bound of what may wait.
  enum Pool: Hashable, Comparable {
    /// All segments that nobody could verify.
    case unverified
    /// All segments of the zone.
    case zone
    /// Those of one device, by its opaque tag.
    case device(Identifier)
  }

  /// How many bytes of segments may wait in a zone in all.
  package static let maximumBytes = 64 << 20
  /// How many bytes of one device's segments may wait in a zone.
  package static let maximumDeviceBytes = 16 << 20
  /// How many segments of one device may wait in a zone.
  package static let maximumDeviceSegments = 4_096
  /// How many bytes may wait in a zone that nobody could verify yet: whoever can write to a folder
  /// can make some, under any name.
  package static let maximumUnverifiedBytes = 4 << 20
  /// How many such segments may wait in a zone.
  package static let maximumUnverifiedSegments = 512

  /// Why a segment may not wait.
  enum Excess {
    case unverified
    case device
    case zone

    /// The bound that it would pass.
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
        "more waits already for people or a newer program than "
          + "\(maximumUnverifiedBytes >> 20) MiB or \(maximumUnverifiedSegments) segments"
      case .device:
        "more of this device waits already for changes that are missing than "
          + "\(maximumDeviceBytes >> 20) MiB or \(maximumDeviceSegments) segments"
      case .zone:
        "more waits already for changes, keys or people than \(maximumBytes >> 20) MiB"
      }
    }
  }

  /// What is more than may wait, by digest; of each log what is farthest from its end.
  ///
  /// Of each log one segment that is applied in part and one for which it is held back do not
  /// count: the log needs them, and they are bounded as what is applied is. O(n log n).
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
