import HearthCRDT
import HearthMembership

// A copied device runs in two places. The copy starts a new incarnation, the original does not know
// of it, and nobody else can tell which of them is in the right hands.
extension Engine {
  /// Whether an incarnation continues after a new one replaced it: a second copy is running.
  ///
  /// The proof needs no clock: the ended incarnation has written a change that cites the new one.
  package func isCopied(at beginning: LifeBeginning, in group: GroupID) -> Bool {
    zones.contains { zone in
      guard zone.group == group else { return false }
      let head = zone.head(of: beginning.ended)
      let seen = zone.kind == .control ? head.seen : head.controlSeen
      return head.sequence > 0 && seen[beginning.author] > 0
    }
  }

  /// The fact that this node's person knows of an incarnation.
  package static func lifeFact(_ life: Author) -> String {
    "life.\(life.device.hex).\(life.incarnation)"
  }

  /// The fact that this node's person was notified of a device running beside its new incarnation.
  package static func copyFact(_ device: DeviceID) -> String { "copied.\(device.hex)" }
}
