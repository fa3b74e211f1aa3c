import HearthCRDT
import HearthMembership

/// The version of the rules by which membership is resolved.
///
/// Membership determines which records have effect, and a new version may change its rules.
package enum MembershipRules {
  /// The version of the rules by which this program resolves membership.
  ///
  /// Version 1 had a precedence table; version 2 uses the principles of decision 0056; in version 3
  /// the device that made a person's id goes before others that join under the id.
  package static var membershipRules: UInt64 { 3 }
  private static let fact = Fact(number: "membership.rules")

  /// Has the next start rebuild all records; the caller has a transaction open.
  static func rejudgeAtStart(in store: some Store) throws { try store.facts.set(fact, to: nil) }

  /// Whether the records of a store were judged by the present rules.
  package static func isFollowed(in store: some Store) throws -> Bool {
    try store.facts.value(of: fact) == membershipRules
  }

  /// Rebuilds records that an earlier version judged by other membership rules, or that a damaged
  /// log kept from being judged anew.
  ///
  /// The engine resolves membership at each start, but judges records only once, on arrival, so old
  /// judgements would persist. A zone with a damaged log keeps its records; verification reports
  /// the damage, and the next start tries again. The cost is O(changes), once after such an update.
  ///
  /// - Throws: The store's errors.
  package static func followMembershipRules(
    in engine: inout Engine<some Store>, nowMilliseconds: UInt64
  ) throws {
    guard try !isFollowed(in: engine.store) else { return }
    var isWhole = true
    for zone in engine.zones where zone.kind == .data {
      do {
        try Rebuild.rebuild(zone.id, in: &engine, nowMilliseconds: nowMilliseconds)
      } catch let error as SyncError where error.code == .corrupt {
        isWhole = false
      }
    }
    guard isWhole else { return }
    try engine.store.transaction { try engine.store.facts.set(fact, to: membershipRules) }
  }
}
