import HearthCRDT

/// The limits for pending segments in a zone, and the choice of what to drop beyond them.
package enum WaitingRoom {
  /// A group of verified pending segments with a common limit.
  enum Pool: Hashable, Comparable {
    /// All of the zone.
    case zone
    /// Those of one device, by its opaque tag.
    case device(Identifier)
  }

  /// The most bytes of verified pending segments in a zone.
  package static let maximumBytes = 64 << 20
  /// The most bytes of one device's pending segments in a zone.
  package static let maximumDeviceBytes = 16 << 20
  /// The most pending segments of one device in a zone.
  package static let maximumDeviceSegments = 4_096
  /// The most bytes of pending segments of unknown authors in a zone, and of those of newer
  /// versions.
  ///
  /// Anyone who can write to a folder can create some, under any name.
  package static let maximumUnverifiedBytes = 4 << 20
  /// The most pending segments of unknown authors in a zone, and of those of newer versions.
  package static let maximumUnverifiedSegments = 512

  /// The reason why a segment may not stay pending.
  enum Excess {
    case unverified(Refusals.Kind)
    case device
    case zone

    /// Whether the author of the segment is unknown.
    var isStranger: Bool {
      if case .unverified(.stranger) = self { return true }
      return false
    }

    /// The pool of a verified segment whose limit the segment would exceed; nil for others.
    func pool(of entry: PendingEntry) -> Pool? {
      switch self {
      case .unverified: nil
      case .device: .device(entry.authorTag)
      case .zone: .zone
      }
    }

    var words: String {
      let unverified =
        "\(maximumUnverifiedBytes >> 20) MiB or \(maximumUnverifiedSegments) segments"
      return switch self {
      case .unverified(.newer):
        "the segments pending for a newer program already exceed \(unverified)"
      case .unverified:
        "the segments pending for unknown people already exceed \(unverified)"
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
  /// the log needs them, and they are bounded like applied segments. Segments that nobody could
  /// verify take no space of others, and each kind of them none of the other kind. The devices with
  /// the most pending bytes fill a zone last, so that no few devices use it up. O(n log n).
  ///
  /// - Parameters:
  ///   - isKnown: Whether the device with a tag is known.
  ///   - isExpected: Whether a segment belongs to a log of which somebody told who let this device
  ///     in. It counts like a verified one of its device, until the log names the device.
  static func excess(
    of entries: [PendingEntry], isKnown: (Identifier) -> Bool = { _ in true },
    isExpected: (PendingEntry) -> Bool = { _ in false }
  ) -> [Identifier: Excess] {
    var unverified: [Refusals.Kind: Room] = [:]
    var devices: [Identifier: Room] = [:]
    var excess: [Identifier: Excess] = [:]
    if Mutant.waitsWithoutBound.isActive { return excess }
    let ordered = entries.sorted {
      $0.first != $1.first ? $0.first < $1.first : PendingEntry.isBefore($0, $1)
    }
    var partlyApplied: Set<TagAuthor> = []
    var heldBack: Set<TagAuthor> = []
    var verified: [(entry: PendingEntry, deviceBytes: Int)] = []
    for entry in ordered {
      let log = entry.tagAuthor
      if entry.wait.isPartlyApplied, partlyApplied.insert(log).inserted { continue }
      if entry.wait.claim != nil, heldBack.insert(log).inserted { continue }
      let isVouched = isExpected(entry)
      if let kind = entry.unverifiedKind(isKnown: isKnown(entry.authorTag), isVouched: isVouched) {
        let new = Room(bytes: maximumUnverifiedBytes, segments: maximumUnverifiedSegments)
        if !unverified[kind, default: new].take(entry) { excess[entry.digest] = .unverified(kind) }
        continue
      }
      var device =
        devices[entry.authorTag] ?? Room(bytes: maximumDeviceBytes, segments: maximumDeviceSegments)
      if device.take(entry) {
        verified.append((entry, maximumDeviceBytes - device.bytes))
      } else {
        excess[entry.digest] = .device
      }
      devices[entry.authorTag] = device
    }
    var zone = Room(bytes: maximumBytes, segments: .max)
    verified.sort {
      $0.deviceBytes != $1.deviceBytes
        ? $0.deviceBytes < $1.deviceBytes : PendingEntry.isBefore($0.entry, $1.entry)
    }
    for (entry, _) in verified where !zone.take(entry) { excess[entry.digest] = .zone }
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

extension PendingEntry {
  /// The kind of unverified segments to which it belongs; nil if its author's signature was
  /// verified.
  ///
  /// Under an unknown key an author can be verified only if the author is known.
  ///
  /// - Parameters:
  ///   - isKnown: Whether the device is known.
  ///   - isVouched: Whether somebody who let this device in had this part of the log.
  func unverifiedKind(isKnown: Bool, isVouched: Bool) -> Refusals.Kind? {
    switch reason {
    case .author: isVouched ? nil : .stranger
    case .epoch: isKnown || isVouched ? nil : .stranger
    case .format: .newer
    case .gap, .cause, .quarantine, .falseClaim: nil
    }
  }
}
