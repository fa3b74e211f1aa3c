import HearthCRDT
import HearthCrypto
import HearthMembership

/// The numbers of incarnations, and the facts about them.
package enum Incarnations {
  /// Whether an incarnation continues after a new one replaced it: a second copy is running.
  ///
  /// The proof needs no clock: the ended incarnation has written a change that cites the new one.
  package static func isCopied(
    at beginning: LifeBeginning, in group: GroupID, by engine: Engine<some Store>
  ) -> Bool {
    engine.zones.contains { zone in
      guard zone.group == group else { return false }
      let head = zone.head(of: beginning.ended)
      let seen = zone.kind == .control ? head.seen : head.controlSeen
      return head.sequence > 0 && seen[beginning.author] > 0
    }
  }

  /// The fact that this node's person knows of an incarnation.
  package static func lifeFact(_ life: Author) -> Fact<UInt64> {
    Fact(number: "life.\(life.device.hex).\(life.incarnation)").asCache
  }

  /// The fact that this node's person was notified of a device running beside its new incarnation.
  package static func copyFact(_ device: DeviceID) -> Fact<UInt64> {
    Fact(number: "copied.\(device.hex)").asCache
  }

  /// The next incarnation number: the next count with random bits, so that two copies differ.
  static func next(after previous: UInt64) throws -> UInt64 {
    let random = try Identifier.random().low & 0xffff_ffff
    return ((previous >> 32) + 1) << 32 | random
  }

  /// The first incarnation of a device.
  package static func first(of identity: DeviceIdentity) throws -> UInt64 {
    Author.first(of: try deviceID(of: identity)).incarnation
  }

  /// The fact that stores the current incarnation.
  package static let currentFact = Fact(number: "incarnation")
}
