import HearthCRDT

/// The lines that people draw through their own logs, as their witnesses see them.
///
/// A witness is a person of higher rank who had seen one of two operations and not the other.
struct WitnessedLines {
  let step: Overrides

  /// A line by the subject's own person, with its witnesses.
  ///
  /// Nobody ranks above the owner, so admins are witnesses if the line's own device was revoked as
  /// well (`isMutual`). Otherwise a stolen device would undo everything that the other device did.
  func ownLine(_ line: Int, _ rank: Int, isMutual: Bool = false) -> OwnLine {
    let floor = isMutual ? min(rank, Role.member.rank) : rank
    guard floor < Role.owner.rank else { return OwnLine(place: line, seen: nil) }
    return step.known.line(
      line, above: floor, besides: step.findings.person(line), step.stock, in: step.log)
  }

  /// Whether an operation is beyond its own person's line, and no higher witness saw it first.
  func isSubject(_ place: Int, _ line: OwnLine) -> Bool {
    guard step.log.isBeyond(place, line.place) else { return false }
    switch step.log.operation(place) {
    case .acceptOwner: return false
    case .transferOwner:
      // An offer that the recovery words signed and that another person accepted is complete.
      if step.findings.live.acceptances.contains(where: {
        step.findings.offer(takenBy: $0) == place
      }) {
        return false
      }
    default: break
    }
    return !line.spares(place, in: step.log)
  }

  /// Whether an operation replaces recovery words with the consent of the old words.
  func isSignedByWords(_ place: Int) -> Bool {
    guard case .rotateRecovery(let rotation) = step.log.operation(place),
      case .recovery = rotation.consent
    else { return false }
    return true
  }

  /// Whether others had seen an operation and not its rival, while nobody had seen the rival alone.
  ///
  /// People of higher rank count as witnesses; owners and admins count in any case. A person whose
  /// status depends on one of the two operations, or on an operation that one of them ends, is no
  /// witness: the holder of a stolen device could admit and promote helpers.
  func isSettled(_ place: Int, beside rival: Int, _ rank: Int) -> Bool {
    let floor = min(rank, Role.member.rank)
    var eyes = step.stock.eyes(above: floor, besides: step.findings.person(place))
    if rank == Role.owner.rank { eyes += loweredEyes(beside: place) }
    var parties = Parties(of: [place, rival], step.findings)
    /// Whether anybody had seen `one` and not `other`, by their first operation that saw `one`.
    func isSeen(_ one: Int, without other: Int) -> Bool {
      eyes.contains { eye in
        let first = eye.places.partitionPoint { step.log.sees($0, one) }
        return first < eye.places.count && !step.log.sees(eye.places[first], other)
          && !parties.include(eye.places[first], of: floor + 1)
      }
    }
    return isSeen(place, without: rival) && !isSeen(rival, without: place)
  }

  /// The effective recoveries of a person that are concurrent with a replacement of their words.
  func recoveries(beside line: Int) -> [Int] {
    guard let person = step.findings.person(line) else { return [] }
    return step.findings.live.furtherDevices[step.log.people[person]].filter { place in
      guard case .recover = step.log.operation(place) else { return false }
      return step.log.isBeyond(place, line) && !step.log.sees(place, line)
    }
  }

  /// Those of them that others saw before the replacement.
  func settledRecoveries(beside line: Int, _ rank: Int) -> [Int] {
    if let known = step.settledRecoveries[line] { return known }
    let settled = recoveries(beside: line).filter { isSettled($0, beside: line, rank) }
    step.settledRecoveries[line] = settled
    return settled
  }

  /// The admins whom the owner's devices lowered beyond the line of a recovery, since the holder of
  /// a removed device must not choose the witnesses of the recovery.
  private func loweredEyes(beside place: Int) -> [Stock.Eyes] {
    guard case .recover(let recover) = step.log.operation(place), recover.revokesOthers else {
      return []
    }
    return step.stock.lowered.compactMap { witness in
      guard let person = step.findings.person(witness), person != recover.person else { return nil }
      let roles = step.findings.live.roleChanges[step.log.people[person]].filter {
        !step.ends.isBeyond($0, recovery: place)
      }
      guard step.findings.standing(witness, under: roles) >= Role.admin.rank else { return nil }
      return Stock.Eyes(person: person, places: [witness])
    }
  }

  /// Whether an operation keeps its effect beyond the line of another own device: it is signed by
  /// the recovery words, or only removes the person's own devices or membership.
  ///
  /// A revoked device's operation after others know of the revocation is not its person's will,
  /// even if the words signed it.
  func isKept(_ place: Int, beside line: Int, _ rank: Int) -> Bool {
    switch step.log.operation(place) {
    case .recover: return true
    case .leave: break
    case .revokeDevice(let revocation):
      guard revocation.device == step.log.devices[line] else { return false }
    default: guard isSignedByWords(place) else { return false }
    }
    return !ownLine(place, rank).spares(line, in: step.log)
  }
}
