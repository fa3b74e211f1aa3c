import HearthCRDT
import HearthMembership

// Membership determines which records have effect, and a new version may change its rules.
extension Engine {
  /// The version of the rules by which this program resolves membership.
  ///
  /// Version 1 had a precedence table; version 2 uses the principles of decision 0056; in version 3
  /// the device that made a person's id goes before others that join under the id.
  package static var membershipRules: UInt64 { 3 }
  private static var membershipRulesFact: String { "membership.rules" }

  /// Rebuilds records that an earlier version judged by other membership rules.
  ///
  /// The engine resolves membership at each start, but judges records only once, on arrival, so old
  /// judgements would persist. A zone with a damaged log keeps its records; verification reports
  /// the damage, and the next start tries again. The cost is O(changes), once after such an update.
  ///
  /// - Throws: The store's errors.
  package mutating func followMembershipRules(nowMilliseconds: UInt64) throws {
    let current = Engine.membershipRules.fixedBytes
    guard try store.facts.value(of: Engine.membershipRulesFact) != current else { return }
    var isWhole = true
    for zone in zones where zone.kind == .data {
      do {
        try rebuild(zone.id, nowMilliseconds: nowMilliseconds)
      } catch let error as SyncError where error.code == .corrupt {
        isWhole = false
      }
    }
    guard isWhole else { return }
    try store.transaction { try store.facts.set(Engine.membershipRulesFact, to: current) }
  }
}
