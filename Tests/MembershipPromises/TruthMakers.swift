/// Whose a person's number is.
///
/// A device makes the number of its person out of itself. Whoever else comes under the number takes
/// what is not theirs, and nobody honest below an owner can have meant them instead of the maker.
/// An owner, who may remove everybody, may have: then nothing is promised about either.
extension Truth {
  /// By device: somebody who may be an owner accepted it, in words, with a key or by a role.
  func ownersWord() -> [Bool] {
    var owned = Array(repeating: false, count: ledger.deviceIDs.count)
    for time in 0..<ledger.count where reach[time] >= Role.owner.rank {
      switch ledger.moves[time] {
      case .admit(_, let device, _), .confirm(let device): owned[device] = true
      case .seal(let devices): for device in devices { owned[device] = true }
      case .setRole(let person, _): sponsor(person, time, &owned)
      default: continue
      }
    }
    return owned
  }

  /// Whether an entry stands against another one under its number, whatever admins say of that.
  func keepsNumber(_ one: Int, against other: Int) -> Bool {
    guard let rival = entry(other) else { return false }
    return isMakers(one, beside: other) && !owned[rival.device]
  }

  /// Whether an entry is by the maker of a number under which somebody else comes without the two
  /// knowing of each other.
  func isMakers(_ one: Int, beside other: Int) -> Bool {
    guard let own = entry(one), let rival = entry(other), own.person == rival.person,
      own.device != rival.device, isOfNobody(own.link), isOfNobody(rival.link),
      let maker = Maker.device(of: ledger.personIDs[own.person])
    else { return false }
    return ledger.deviceIDs[own.device] == maker && ledger.areConcurrent(one, other)
  }

  /// Whether a link is there, and for whoever comes.
  private func isOfNobody(_ link: Int) -> Bool { link >= 0 && ledger.links[link].forPerson == nil }

  /// Whether an entry is under a number whose maker comes too.
  ///
  /// It uses its link as if it were under another number.
  func isUsurping(_ time: Int) -> Bool {
    (0..<ledger.count).contains { keepsNumber($0, against: time) }
  }

  /// Whether an entry is under the number of somebody who is in for certain.
  func isInVain(_ time: Int) -> Bool {
    (0..<ledger.count).contains { isCertain[$0] && keepsNumber($0, against: time) }
  }

  /// Whether somebody else comes under the number of an entry.
  func isUsurped(_ time: Int) -> Bool {
    (0..<ledger.count).contains { keepsNumber(time, against: $0) }
  }

  /// Whether a device comes under the number of somebody who is in for certain.
  func isUsurper(_ device: Int) -> Bool {
    (0..<ledger.count).contains { entry($0)?.device == device && isInVain($0) }
  }
}
