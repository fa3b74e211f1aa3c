import HearthCRDT
import HearthCrypto
import HearthMembership

// What a transport held after the last round, to see whether it was set back to an old copy.
extension Engine {
  /// How many changes of each author a transport held, by zone.
  typealias Held = [ZoneID: Frontier]

  /// The most zones that are remembered of one transport.
  static var maximumHeldZones: Int { 1_024 }

  /// The fact by which a node remembers what a transport held.
  package static func heldFact(of transport: String) -> String {
    "held." + derivedIdentifier("HRTH/held/v1", Array(transport.utf8)).hex
  }

  /// What a transport held after the last round.
  ///
  /// Asked of transports alone that somebody else carries and that keep no log of their own; a
  /// relay's client sees by the chain over its log whether it was set back.
  func heldBefore(on name: String) throws -> Held {
    guard let bytes = try store.facts.value(of: Engine.heldFact(of: name)) else { return [:] }
    var reader = ByteReader(bytes)
    var held: Held = [:]
    for _ in 0..<(try reader.count("zones", itemBytes: 17, atMost: Engine.maximumHeldZones)) {
      let zone = try reader.identifier("zone")
      held[zone] = try reader.frontier("changes")
    }
    try reader.finish()
    return held
  }

  /// Counts the changes of a zone that a transport held and does not hold any more.
  ///
  /// Nobody takes away a file unless a larger one that is there as well has replaced it, so fewer
  /// changes than before mean an old copy, or somebody who deletes. Files whose names are there
  /// with something else in their place are told of by themselves, and hide how much is gone.
  ///
  /// - Parameter held: what it held before; afterwards what it holds when this round is over.
  /// - Returns: how many changes are missing.
  func notice(
    lossOf id: ZoneID, in listing: TransportListing, _ held: inout Held
  ) throws -> UInt64 {
    let state = try zone(id)
    let now = SyncPlan.covered(by: listing.segments, of: state)
    let isBlocked = listing.problems.contains { $0.hidesData && $0.place != "." }
    var lost: UInt64 = 0
    if let former = held[id], !isBlocked {
      for entry in former.entries {
        // A log that was cut since cannot be there as far as it was.
        let wanted = min(entry.sequence, state.frontier[entry.author])
        guard now[entry.author] < wanted else { continue }
        let (sum, isTooLarge) = lost.addingReportingOverflow(wanted - now[entry.author])
        lost = isTooLarge ? .max : sum
      }
    }
    guard held[id] != nil || held.count < Engine.maximumHeldZones else { return lost }
    let given = SyncPlan.unlisted(try store.log.segments(of: id), on: listing, of: state)
    held[id] =
      given.isEmpty
      ? now : SyncPlan.covered(by: listing.segments + given.map(\.name), of: state)
    return lost
  }

  /// Remembers what a transport holds when a round over it is done.
  func keep(_ held: Held, of name: String) throws {
    var writer = ByteWriter(capacity: 256)
    writer.varint(held.count)
    for zone in held.keys.sorted() {
      writer.identifier(zone)
      writer.frontier(held[zone] ?? Frontier())
    }
    guard try store.facts.value(of: Engine.heldFact(of: name)) != writer.bytes else { return }
    try store.transaction { try store.facts.set(Engine.heldFact(of: name), to: writer.bytes) }
  }
}
