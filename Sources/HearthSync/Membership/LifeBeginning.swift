import HearthCRDT
import HearthMembership

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
    said(.incarnate).compactMap { said in
      guard said.counts, case .incarnate(let life) = said.item.operation else { return nil }
      return LifeBeginning(
        author: said.item.version.dot.author, previous: life.previous, reason: life.reason,
        milliseconds: said.item.version.time.milliseconds)
    }
  }
}
