import HearthCRDT
import HearthMembership

// What records are worth follows from who belongs, and that from rules that a program may change.
extension Engine {
  /// The rules by which this program resolves who belongs.
  ///
  /// 1 had a table of what strikes what; 2 are the principles of decision 0056.
  package static var membershipRules: UInt64 { 2 }
  private static var membershipRulesFact: String { "membership.rules" }

  /// Builds records anew that an earlier program judged by other rules of membership.
  ///
  /// Who belongs is resolved at each start, and records are judged once, when they come. So they
  /// would stay as they were judged then. A zone whose log is damaged stays as it is, which
  /// verifying tells, and the next start tries again. O(changes) once after such an update.
  ///
  /// - Throws: the store's errors.
  package mutating func followMembershipRules(nowMilliseconds: UInt64) throws {
    let current = Engine.bytes(of: Engine.membershipRules)
    guard try store.fact(Engine.membershipRulesFact) != current else { return }
    var isWhole = true
    for zone in zones where zone.kind == .data {
      do {
        try rebuild(zone.id, nowMilliseconds: nowMilliseconds)
      } catch let error as SyncError where error.code == .corrupt {
        isWhole = false
      }
    }
    guard isWhole else { return }
    try store.transaction { try store.setFact(Engine.membershipRulesFact, current) }
  }
}
