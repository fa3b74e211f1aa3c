import HearthCRDT
import HearthCrypto
import HearthMembership

/// The stored verdicts about names of files.
package enum NameMemory {
  /// The most files that other segments would replace and that are examined in one round.
  package static var examinedFiles: Int { 256 }

  private static func memoryOfNames(of zone: ZoneID) -> Fact<[UInt8]> {
    Fact(bytes: "names.\(zone.hex)").asCache
  }

  private static func holdersOfKeys(of zone: ZoneID) -> Fact<[UInt8]> {
    Fact(bytes: "names.holders.\(zone.hex)").asCache
  }

  /// The stored verdicts; those about files that are closed here only while the same people have
  /// the keys.
  static func verdicts(of zone: ZoneID, in engine: Engine<some Store>) throws -> NameVerdicts {
    guard let fact = try engine.store.facts.value(of: memoryOfNames(of: zone)) else {
      return NameVerdicts()
    }
    var verdicts = try NameVerdicts(decoding: fact)
    if verdicts.hasClosed,
      try engine.store.facts.value(of: holdersOfKeys(of: zone))
        != digestOfHolders(of: zone, in: engine)
    {
      verdicts.forgetClosed()
    }
    return verdicts
  }

  private static func digestOfHolders(of zone: ZoneID, in engine: Engine<some Store>) throws
    -> [UInt8]
  {
    engine.membership(of: try engine.zone(zone).group).keys.digestOfHolders(of: zone)
  }

  /// Stores verdicts about a zone's files.
  static func remember(
    _ verdicts: NameVerdicts, of zone: ZoneID, _ listing: TransportListing,
    in engine: Engine<some Store>
  ) throws {
    let bytes = verdicts.encoded(preferring: listing)
    try engine.store.transaction {
      try engine.store.facts.set(memoryOfNames(of: zone), to: bytes)
      guard verdicts.hasClosed else { return }
      try engine.store.facts.set(holdersOfKeys(of: zone), to: digestOfHolders(of: zone, in: engine))
    }
  }
}
