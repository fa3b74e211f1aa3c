import HearthCRDT
import HearthCrypto
import HearthMembership

/// What each transport held after its last round.
///
/// A transport that holds less later was set back to an old copy.
package enum TransportWatermarks {
  /// How many changes of each author a transport held, by zone.
  package typealias Watermarks = [ZoneID: Frontier]

  /// The most zones that are stored for one transport.
  private static var maximumZones: Int { 1_024 }

  /// The fact that stores what a transport held.
  package static func fact(of transport: String) -> Fact<Watermarks> {
    Fact("held." + derivedIdentifier("HRTH/held/v1", Array(transport.utf8)).hex) {
      held, writer in
      writer.varint(held.count)
      for zone in held.keys.sorted() {
        writer.identifier(zone)
        writer.frontier(held[zone] ?? Frontier())
      }
    } read: { reader in
      var held: Watermarks = [:]
      for _ in 0..<(try reader.count("zones", itemBytes: 17, atMost: maximumZones)) {
        let zone = try reader.identifier("zone")
        held[zone] = try reader.frontier("changes")
      }
      return held
    }.asCache
  }

  /// What a transport held after the last round.
  ///
  /// Only transports that other people run and that keep no log of their own are asked. A relay's
  /// client detects from the chain over the relay's log that the relay was set back.
  static func watermarks(on name: String, in store: some Store) throws -> Watermarks {
    try store.facts.value(of: fact(of: name)) ?? [:]
  }

  /// Counts the changes of a zone that a transport held and no longer holds.
  ///
  /// A device removes a file only if a larger file there has replaced it. Fewer changes than before
  /// therefore mean an old copy, or somebody who deletes. Damaged files are reported separately,
  /// and hide how much is lost.
  ///
  /// - Parameter held: What the transport held before; afterwards what it holds at the end of this
  ///   round.
  /// - Returns: The number of missing changes.
  static func notice(
    lossOf id: ZoneID, in listing: TransportListing, _ held: inout Watermarks,
    by engine: Engine<some Store>
  ) throws -> UInt64 {
    let state = try engine.zone(id)
    let now = SyncPlan.covered(by: listing.segments, of: state)
    let isBlocked = listing.problems.contains { $0.hidesData && $0.place != "." }
    var lost: UInt64 = 0
    if let former = held[id], !isBlocked {
      for entry in former.entries {
        // A log that was cut since then cannot reach as far as it did.
        let wanted = min(entry.sequence, state.frontier[entry.author])
        guard now[entry.author] < wanted else { continue }
        let (sum, isTooLarge) = lost.addingReportingOverflow(wanted - now[entry.author])
        lost = isTooLarge ? .max : sum
      }
    }
    guard held[id] != nil || held.count < maximumZones else { return lost }
    let given = SyncPlan.unlisted(try engine.store.log.segments(of: id), on: listing, of: state)
    held[id] =
      given.isEmpty
      ? now : SyncPlan.covered(by: listing.segments + given.map(\.name), of: state)
    return lost
  }

  /// Stores what a transport holds at the end of a round.
  static func keep(_ held: Watermarks, of name: String, in store: some Store) throws {
    guard try store.facts.value(of: fact(of: name)) != held else { return }
    try store.transaction { try store.facts.set(fact(of: name), to: held) }
  }
}
