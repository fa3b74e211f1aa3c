import HearthCRDT

/// The beginning of a device's new life, as the group's log tells it.
package struct LifeBeginning: Equatable, Sendable {
  /// The device in its new life.
  package let author: Author
  /// The life that ended with it.
  package let previous: UInt64
  /// What the device found, in words.
  package let reason: String
  /// When, by the clock of the device.
  package let milliseconds: UInt64

  /// The life that ended with it, as an author.
  package var ended: Author { Author(device: author.device, incarnation: previous) }

  /// Why a device began a new life, in words that others understand.
  package static func cause(of reason: String) -> String {
    reason == Anchor.interruption
      ? "it was interrupted, and cannot tell whether its files were copied"
      : "its files were restored or copied"
  }
}

extension Membership {
  /// Every new life that a device of the group has begun, causes first.
  package func lifeBeginnings() -> [LifeBeginning] {
    guard let resolver = resolved?.resolver else { return [] }
    return resolver.log.items.indices.compactMap { place in
      let item = resolver.log.items[place]
      guard resolver.isLive[place], case .incarnate(let life) = item.operation else { return nil }
      return LifeBeginning(
        author: item.version.dot.author, previous: life.previous, reason: life.reason,
        milliseconds: item.version.time.milliseconds)
    }
  }
}

// A device that was copied works in two places: the copy begins a new life, the original does not
// know, and nobody else can tell which of them is in the right hands.
extension Engine {
  /// Whether a life goes on that was over when a new one began: a second copy is at work.
  ///
  /// Proven without any clock: the life that ended has written what cites the new one.
  package func isCopied(at beginning: LifeBeginning, in group: GroupID) -> Bool {
    zones.contains { zone in
      guard zone.group == group else { return false }
      let head = zone.head(of: beginning.ended)
      let seen = zone.kind == .control ? head.seen : head.controlSeen
      return head.sequence > 0 && seen[beginning.author] > 0
    }
  }

  /// The fact that a device's life is known to this node's person.
  package static func lifeFact(_ life: Author) -> String {
    "life.\(life.device.hex).\(life.incarnation)"
  }

  /// The fact that this node's person was told that a device works beside a new life.
  package static func copyFact(_ device: DeviceID) -> String { "copied.\(device.hex)" }
}
