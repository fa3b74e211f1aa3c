import HearthCRDT

/// Which operations of a person a recovery or a revocation by the same person ends.
struct DeviceEnds {
  let findings: Findings

  /// Whether an operation can end devices of its own person.
  func mayEnd(_ place: Int) -> Bool {
    switch findings.log.operation(place) {
    case .recover(let recover): recover.revokesOthers
    case .revokeDevice: true
    default: false
    }
  }

  /// Whether a recovery that revokes devices, or a revocation, would override an operation of its
  /// person that nobody had seen first.
  func isEnded(_ place: Int, by line: Int) -> Bool {
    if case .recover = findings.log.operation(line) { return isBeyond(place, recovery: line) }
    return isRevoked(place, by: line) && findings.log.isBeyond(place, line)
      && !findings.log.sees(place, line)
  }

  /// Whether a recovery would override an operation of its person.
  func isBeyond(_ place: Int, recovery: Int) -> Bool {
    findings.person(place) == findings.person(recovery)
      && findings.log.devices[place] != findings.log.devices[recovery]
      && findings.verdicts[place].enrolment.map { findings.log.sees(recovery, $0) } ?? false
      && !findings.log.sees(place, recovery) && findings.log.isBeyond(place, recovery)
  }

  /// Whether a revocation ended the enrolment that an operation was written under.
  func isRevoked(_ place: Int, by line: Int) -> Bool {
    guard case .revokeDevice(let revocation) = findings.log.operation(line),
      findings.log.devices[place] == revocation.device,
      findings.person(place) == findings.person(line),
      let enrolment = findings.verdicts[place].enrolment
    else { return false }
    return findings.log.sees(line, enrolment)
  }
}
