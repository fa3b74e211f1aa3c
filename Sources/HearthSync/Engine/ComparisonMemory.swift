import HearthCRDT
import HearthCrypto
import HearthMembership

/// The stored memory of a zone's comparisons.
enum ComparisonMemory {
  /// Makes the next look at a data zone and a statement due within a day.
  ///
  /// The caller does so when devices may have come to hold different records: after a rebuild, a
  /// fork, a false claim, or a snapshot that this device began from. Others can cause this as often
  /// as they like, so a device still makes a statement at most once a week, and looks at most once
  /// a day. The caller has a transaction open.
  static func compareSoon(_ zone: ZoneState, in store: some Store, nowMilliseconds now: UInt64)
    throws
  {
    guard zone.kind == .data else { return }
    // A damaged memory of comparisons must not make the caller fail.
    let kept = try? store.facts.value(of: comparisonFact(zone.id))
    var known = kept ?? StateComparison()
    known.owe(
      by: now + ComparisonIntervals.riskMilliseconds,
      every: ComparisonIntervals.comparisonMilliseconds)
    guard known != kept else { return }
    try store.facts.set(comparisonFact(zone.id), to: known)
  }

  /// The stored state of a zone's comparisons.
  static func comparison(of zone: ZoneID, in store: some Store) throws -> StateComparison {
    try store.facts.value(of: comparisonFact(zone)) ?? StateComparison()
  }

  /// The fact that stores the state of a zone's comparisons.
  static func comparisonFact(_ zone: ZoneID) -> Fact<StateComparison> {
    Fact("compared.\(zone.hex)", encode: { $0.bytes }, decode: { try StateComparison($0) }).asCache
  }
}
