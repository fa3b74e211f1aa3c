import HearthCRDT

/// The rights of an operation's author at that time.
struct Authority {
  /// The author's knowledge of other logs, as numbered by ``Causality``.
  let sight: Int
  /// The author's enrolment, person and role; nil if the author did not belong to the group.
  let standing: (enrolment: Int, person: PersonID, role: Role)?

  /// Borrows the findings: an initializer would otherwise own a copy of them for each operation.
  init(of place: Int, _ sight: Int, in findings: borrowing Findings) {
    self.sight = sight
    guard
      let enrolment = LogView.past(place).enrolment(
        of: findings.log.deviceNumbers[place], in: findings),
      let person = findings.log.comers[enrolment],
      let role = LogView.past(place).role(of: person, in: findings),
      Authority.isLate(place, for: enrolment, in: findings)
    else {
      standing = nil
      return
    }
    standing = (enrolment, findings.log.people[number: person], role)
  }

  /// Whether an operation's incarnation is not earlier than its device's own enrolment: earlier
  /// ones would escape the later knowledge of the device.
  private static func isLate(_ place: Int, for enrolment: Int, in findings: Findings) -> Bool {
    if findings.log.author(place) == findings.log.author(enrolment) { return true }
    let first = findings.log.items[enrolment].version.dot.author
    return first.device != findings.enrolledDevice(enrolment)
      || findings.log.items[place].version.dot.author.incarnation >= first.incarnation
  }
}
