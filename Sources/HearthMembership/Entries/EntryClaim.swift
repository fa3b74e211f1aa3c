import HearthCRDT

/// How strong a join is against a concurrent one under the same person, or by the same device.
///
/// The join that the higher rank made final is stronger, then the join by the device that made the
/// person's id. Nobody else can make a device that leads to the id, so the first join of that
/// device counts as if an admin had made it final. What an owner made final is stronger. Otherwise
/// the holder of a lost device could end its person's membership in a household that the person
/// joined with another device.
struct EntryClaim: Comparable {
  /// The rank of the author who made the join final; -1 if nobody has.
  private let finality: Int
  private let isByMaker: Bool

  /// - Parameter confirmed: the rank of the author who made the join final.
  init(
    _ place: Int, finality confirmed: Int?, under rule: VoidReason.Rule,
    in findings: borrowing Findings
  ) {
    isByMaker =
      rule == .samePerson && findings.log.items[place].isByMaker
      && !Mutant.idsBelongToNobody.isActive
    let finality = confirmed ?? -1
    let isFirst = isByMaker && findings.verdicts[place].isFirst
    self.finality = isFirst ? max(finality, Role.admin.rank) : finality
  }

  static func < (one: EntryClaim, other: EntryClaim) -> Bool {
    guard one.finality == other.finality else { return one.finality < other.finality }
    return !one.isByMaker && other.isByMaker
  }
}
