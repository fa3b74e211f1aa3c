import HearthCRDT
import HearthMembership

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
