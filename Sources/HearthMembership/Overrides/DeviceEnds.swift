import HearthCRDT

// Which operations of a person a recovery or a revocation by the same person ends.
extension Findings {
  /// Whether an operation can end devices of its own person.
  func mayEndDevices(_ place: Int) -> Bool {
    switch log.operation(place) {
    case .recover(let recover): recover.revokesOthers
    case .revokeDevice: true
    default: false
    }
  }

  /// Whether a recovery that revokes devices, or a revocation, would override an operation of its
  /// person that nobody had seen first.
  func isEnded(_ place: Int, by line: Int) -> Bool {
    if case .recover = log.operation(line) { return isEnded(place, byRecovery: line) }
    return isRevoked(place, by: line) && log.isUnaware(place, of: line)
  }

  /// Whether a recovery would override an operation of its person.
  func isEnded(_ place: Int, byRecovery line: Int) -> Bool {
    person(place) == person(line) && log.devices[place] != log.devices[line]
      && hasSeenEnrolment(line, of: place) && log.isUnaware(place, of: line)
  }

  /// Whether a revocation ended the enrolment that an operation was written under.
  func isRevoked(_ place: Int, by line: Int) -> Bool {
    guard case .revokeDevice(let device, _) = log.operation(line) else { return false }
    return log.devices[place] == device && person(place) == person(line)
      && hasSeenEnrolment(line, of: place)
  }

  /// Whether a line's author had seen the enrolment under which an operation was written.
  func hasSeenEnrolment(_ line: Int, of place: Int) -> Bool {
    verdicts[place].enrolment.map { log.sees(line, $0) } ?? false
  }

  /// Whether a line's author had seen the membership under which an operation was written.
  ///
  /// Nobody can end a membership that they had not seen, and a person who rejoins starts anew.
  func hasSeenMembership(_ line: Int, of place: Int) -> Bool {
    membership(place).map { log.sees(line, $0) } ?? false
  }
}
