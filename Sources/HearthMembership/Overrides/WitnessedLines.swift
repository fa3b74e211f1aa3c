import HearthCRDT

// The lines that people draw through their own logs, as their witnesses see them: people of higher
// rank who had seen one of two operations and not the other.
extension Overrides {
  /// Whether an operation is beyond its own person's line, and no higher witness saw it first.
  func isSubject(_ place: Int, _ line: OwnLine) -> Bool {
    guard log.isBeyond(place, line.place) else { return false }
    switch log.operation(place) {
    case .acceptOwner: return false
    case .transferOwner:
      // An offer that the recovery words signed and that another person accepted is complete.
      let isTaken = findings.live.acceptances.contains { findings.offer(takenBy: $0) == place }
      return !isTaken && !line.spares(place, in: log)
    default: return !line.spares(place, in: log)
    }
  }

  /// Whether others had seen an operation and not its rival, while nobody had seen the rival alone.
  ///
  /// People of higher rank count as witnesses; owners and admins count in any case. A person whose
  /// status depends on one of the two operations, or on an operation that one of them ends, is no
  /// witness: the holder of a stolen device could admit and promote helpers.
  func isSettled(_ place: Int, beside rival: Int, _ rank: Int) -> Bool {
    let floor = min(rank, Role.member.rank)
    var eyes = stock.eyes(above: floor).filter { $0.person != findings.person(place) }
    if rank == Role.owner.rank { eyes += loweredEyes(beside: place) }
    var parties = Parties(of: [place, rival], findings)
    /// Whether anybody had seen `one` and not `other`, by their first operation that saw `one`.
    func isSeen(_ one: Int, without other: Int) -> Bool {
      eyes.contains { eye in
        let first = eye.places.partitionPoint { log.sees($0, one) }
        return first < eye.places.count && !log.sees(eye.places[first], other)
          && !parties.include(eye.places[first], of: floor + 1)
      }
    }
    return isSeen(place, without: rival) && !isSeen(rival, without: place)
  }

  /// The effective recoveries of a person that are concurrent with a replacement of their words.
  func recoveries(beside line: Int) -> [Int] {
    findings.live.furtherDevices[log.people[findings.person(line)]].filter { place in
      guard case .recover = log.operation(place) else { return false }
      return log.isUnaware(place, of: line)
    }
  }

  /// Those of them that others saw before the replacement.
  func settledRecoveries(beside line: Int, _ rank: Int) -> [Int] {
    if let known = settledRecoveries[line] { return known }
    let settled = recoveries(beside: line).filter { isSettled($0, beside: line, rank) }
    settledRecoveries[line] = settled
    return settled
  }

  /// The admins whom the owner's devices lowered beyond the line of a recovery, since the holder of
  /// a removed device must not choose the witnesses of the recovery.
  private func loweredEyes(beside place: Int) -> [Stock.Eyes] {
    guard case .recover(let recover) = log.operation(place), recover.revokesOthers else {
      return []
    }
    return stock.lowered.compactMap { witness in
      guard let person = findings.person(witness), person != recover.person else { return nil }
      let roles = findings.live.roles[log.people[person]].filter {
        !findings.isEnded($0, byRecovery: place)
      }
      guard findings.standing(witness, under: roles) >= Role.admin.rank else { return nil }
      return Stock.Eyes(person: person, places: [witness])
    }
  }

  /// Whether an operation keeps its effect beyond the line of another own device: it is signed by
  /// the recovery words, or only removes the person's own devices or membership.
  ///
  /// A revoked device's operation after others know of the revocation is not its person's will,
  /// even if the words signed it.
  func isKept(_ place: Int, beside line: Int, _ rank: Int) -> Bool {
    switch log.operation(place) {
    case .recover: return true
    case .leave: break
    case .revokeDevice(let device, _):
      guard device == log.devices[line] else { return false }
    default: guard log.operation(place).isSignedByWords else { return false }
    }
    return !ownLine(place, rank).spares(line, in: log)
  }
}
