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

  /// The reason of a device that ended while it noted how far its own logs had come.
  package static let interruption = "this node was interrupted while it noted where it stands"

  /// Why a device began a new life, in words that others understand.
  package static func cause(of reason: String) -> String {
    reason == interruption
      ? "it was interrupted, and cannot tell whether its files were copied"
      : "its files were restored or copied"
  }
}

extension Membership {
  /// Every new life that a device of the group has begun, causes first.
  package func lifeBeginnings() -> [LifeBeginning] {
    resolver.log.items.indices.compactMap { place in
      let item = resolver.log.items[place]
      guard resolver.isLive[place], case .incarnate(let life) = item.operation else { return nil }
      return LifeBeginning(
        author: item.version.dot.author, previous: life.previous, reason: life.reason,
        milliseconds: item.version.time.milliseconds)
    }
  }
}
