import HearthCRDT

extension Membership {
  /// Everything that the fold decided, to be compared between two programs.
  package var decisions: String {
    guard let resolver = resolved?.resolver else { return "nothing" }
    return resolver.log.items.indices.map(resolver.decision).joined(separator: "\n")
      + "\nowner \(owner?.hex ?? "") \(unknownOperations) \(minimumSuite) \(newcomers)"
      + "\n\(people)\n\(formerPeople)\n\(allDevices)\n\(invites)\n\(offers)"
      + "\n\(voided.map { "\($0.id.hex) \($0.reason)" })"
      + "\n\(cards.sorted { $0.key < $1.key })"
      + "\n\(waiting.map(\.id)) \(hasCuts) \(hasTriedCuts) \(resolver.ending)"
      + "\n\(audit().map { "\($0.person?.hex ?? "") \($0.void ?? "") \($0.exposures.count)" })"
      + "\n\(recoveryUses().map(\.id)) \(devices.map { unconfirmed(of: $0.id) })"
      + "\n\(resolved?.ruleChanges ?? []) \(resolved?.thresholds ?? [])"
  }

  private func unconfirmed(of device: DeviceID) -> String {
    let found = unconfirmed(by: device, nowMilliseconds: 100, graceMilliseconds: 100)
    return "\(found.inTime) \(found.late) \(confirmable(by: device).sorted())"
  }
}

extension ControlResolver {
  /// What was decided about one operation.
  fileprivate func decision(_ place: Int) -> String {
    let verdict = verdicts[place]
    let numbers = [
      verdict.enrolment, verdict.membership, verdict.admitted, verdict.invite,
      confirmations[place], verdict.rank, verdict.needs,
    ]
    return "\(log.items[place].id.hex) \(isLive[place]) \(isWaiting(place)) \(standing(place)) "
      + numbers.map { $0.map { "\($0)" } ?? "-" }.joined(separator: " ")
      + " \(verdict.isContested) \(verdict.isEntry) \(verdict.isProven) "
      + "\(verdict.person?.low ?? 0) \(verdict.given.map(\.name) ?? "-") "
      + "\(verdict.formerOwner?.low ?? 0) \(verdict.refusal.map { "\($0)" } ?? "-") "
      + "\(reason(place).map { "\($0)" } ?? "-") \(strikes[place].map { "\($0)" } ?? "-") "
      + "\(contests[place].map { "\($0)" } ?? "-")"
  }

  /// What ended each device's enrolments.
  fileprivate var ending: String {
    index.enrolments.keys.sorted().flatMap { device in
      (index.enrolments[device] ?? []).map {
        "\(self.ending(of: device, enrolledBy: $0, .all) ?? -1)"
      }
    }.joined(separator: " ")
  }
}
