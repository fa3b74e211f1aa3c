import HearthCRDT
import HearthMembership

/// The start of a device's new incarnation, according to the group's log.
package struct LifeBeginning: Equatable, Sendable {
  /// The device in its new incarnation.
  package let author: Author
  /// The incarnation that ended.
  package let previous: UInt64
  /// What the device found, in words.
  package let reason: String
  /// The time by the device's clock.
  package let milliseconds: UInt64

  /// The ended incarnation as an author.
  package var ended: Author { Author(device: author.device, incarnation: previous) }

  /// The reason given by a device that was interrupted while it noted the heads of its own logs.
  package static let interruption = "this node was interrupted while it noted where it stands"

  /// Why a device started a new incarnation, in words that other people understand.
  package static func cause(of reason: String) -> String {
    reason == interruption
      ? "it was interrupted, and cannot tell whether its files were copied"
      : "its files were restored or copied"
  }
}

extension Membership {
  /// Every new incarnation that a device of the group has started, causes first.
  package func lifeBeginnings() -> [LifeBeginning] {
    said(.incarnate).compactMap { said in
      guard said.counts, case .incarnate(let previous, let reason) = said.item.operation else {
        return nil
      }
      return LifeBeginning(
        author: said.item.version.dot.author, previous: previous, reason: reason,
        milliseconds: said.item.version.time.milliseconds)
    }
  }
}
