/// A history that a resolver once judged wrongly, as short as it could be made.
package struct FoundHistory: Sendable {
  package let name: String
  package let history: History
}

extension PromiseCheck {
  /// Every history that was found; none breaks a promise any more.
  package static var found: [FoundHistory] {
    foundEarly() + foundLate() + foundLater() + foundLast() + foundNewest()
  }
}

/// The histories F1 to F10.
func foundEarly() -> [FoundHistory] {
  [
    historyF1(), historyF2(), historyF3(), historyF4(), historyF5(), historyF6(), historyF7(),
    historyF8(), historyF9(), historyF10(),
  ]
}

private func historyF1() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(88, .join(invite: 1, person: 12), .exactly([0: 2]))
  world.write(
    0, .invite(id: 2, role: .member, forPerson: nil, uses: 2, needsApproval: false),
    .exactly([:]))
  world.write(2, .join(invite: 2, person: 34), .exactly([0: 3]))
  world.write(0, .confirm(device: 2), .exactly([2: 1]))
  world.write(
    88, .invite(id: 3, role: .reader, forPerson: 12, uses: 1, needsApproval: false),
    .exactly([0: 2]))
  world.write(3, .join(invite: 3, person: 12), .exactly([0: 2, 88: 2]))
  world.write(
    3, .invite(id: 5, role: .reader, forPerson: 12, uses: 2, needsApproval: false),
    .exactly([0: 4, 2: 1, 88: 2]))
  world.write(81, .join(invite: 5, person: 12), .exactly([0: 4, 2: 1, 3: 2, 88: 2]))
  world.write(
    88, .invite(id: 7, role: .reader, forPerson: 12, uses: 1, needsApproval: false),
    .exactly([0: 4, 2: 1]))
  world.write(26, .join(invite: 7, person: 12), .exactly([0: 4, 2: 1, 88: 3]))
  world.write(0, .remove(person: 12), .exactly([2: 1, 3: 2, 81: 1, 88: 2]))
  world.write(26, .remove(person: 34), .exactly([0: 4, 2: 1, 88: 3]))
  world.write(81, .remove(person: 34), .exactly([0: 4, 2: 1, 3: 2, 26: 2, 88: 3]))
  return FoundHistory(name: "F1", history: world.history)
}

private func historyF2() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .member, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(44, .join(invite: 2, person: 40), .exactly([0: 2]))
  world.write(0, .confirm(device: 44), .exactly([44: 1]))
  world.write(0, .revoke(device: 44), .exactly([44: 1]))
  world.write(44, .leave, .exactly([0: 3]))
  world.write(44, .setRole(person: 40, role: .reader), .exactly([0: 3]))
  return FoundHistory(name: "F2", history: world.history)
}

private func historyF3() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(48, .join(invite: 1, person: 34), .exactly([0: 2]))
  world.write(
    0, .invite(id: 2, role: .member, forPerson: nil, uses: 3, needsApproval: false),
    .exactly([:]))
  world.write(17, .join(invite: 2, person: 22), .exactly([0: 3]))
  world.write(
    17, .invite(id: 4, role: .reader, forPerson: 22, uses: 1, needsApproval: false),
    .exactly([0: 3]))
  world.write(72, .join(invite: 4, person: 22), .exactly([0: 3, 17: 2]))
  world.write(
    72, .invite(id: 5, role: .reader, forPerson: 22, uses: 1, needsApproval: false),
    .exactly([0: 3, 17: 2]))
  world.write(28, .join(invite: 5, person: 22), .exactly([0: 3, 17: 2, 72: 2]))
  world.write(48, .revoke(device: 17), .exactly([0: 3, 17: 2, 72: 1]))
  world.write(0, .confirm(device: 28), .exactly([17: 2, 28: 1, 72: 2]))
  world.write(17, .leave, .exactly([0: 3, 72: 2]))
  world.write(0, .remove(person: 34), .exactly([17: 3, 28: 1, 48: 2, 72: 2]))
  world.write(48, .revoke(device: 28), .exactly([0: 4, 17: 3, 28: 1, 72: 2]))
  return FoundHistory(name: "F3", history: world.history)
}

private func historyF4() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(8, .join(invite: 2, person: 53), .exactly([0: 3]))
  world.write(8, .setWords(words: 2), .exactly([0: 3]))
  world.write(8, .setWords(words: 3, consent: 2), .exactly([0: 3]))
  world.write(74, .recover(person: 0, words: 1, revokingOthers: true), .exactly([0: 3, 8: 1]))
  world.write(
    36, .recover(person: 0, words: 1, revokingOthers: true),
    .exactly([0: 3, 8: 1, 74: 1]))
  world.write(8, .setWords(words: 4, consent: 3), .exactly([0: 3, 36: 1, 74: 1]))
  world.write(74, .setWords(words: 5, consent: 1), .exactly([0: 3, 8: 3]))
  return FoundHistory(name: "F4", history: world.history)
}

private func historyF5() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 3, role: .admin, forPerson: nil, uses: 3, needsApproval: false),
    .exactly([:]))
  world.write(29, .join(invite: 3, person: 31), .exactly([0: 3]))
  world.write(
    29, .invite(id: 4, role: .reader, forPerson: 31, uses: 1, needsApproval: false),
    .exactly([0: 3]))
  world.write(13, .join(invite: 4, person: 31), .exactly([0: 3, 29: 2]))
  world.write(13, .revoke(device: 29), .exactly([0: 3, 29: 2]))
  world.write(77, .recover(person: 0, words: 1, revokingOthers: true), .exactly([0: 3, 29: 2]))
  world.write(77, .confirm(device: 13), .exactly([0: 3, 13: 2, 29: 2]))
  world.write(29, .leave, .exactly([0: 3]))
  return FoundHistory(name: "F5", history: world.history)
}

private func historyF6() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .member, forPerson: nil, uses: 2, needsApproval: false),
    .exactly([:]))
  world.write(11, .join(invite: 2, person: 55), .exactly([0: 2]))
  world.write(0, .confirm(device: 11), .exactly([11: 1]))
  world.write(88, .join(invite: 2, person: 55), .exactly([0: 2]))
  world.write(27, .join(invite: 2, person: 20), .exactly([0: 3, 11: 1]))
  return FoundHistory(name: "F6", history: world.history)
}

private func historyF7() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(4, .join(invite: 2, person: 17), .exactly([0: 2]))
  world.write(
    0, .invite(id: 3, role: .reader, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(3, .join(invite: 3, person: 45), .exactly([0: 3]))
  world.write(0, .confirm(device: 4), .exactly([4: 1]))
  world.write(45, .join(invite: 2, person: 45), .exactly([0: 2]))
  return FoundHistory(name: "F7", history: world.history)
}

private func historyF8() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .reader, forPerson: 0, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(5, .join(invite: 1, person: 0), .exactly([0: 2]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .admin, forPerson: nil, uses: 2, needsApproval: false),
    .exactly([:]))
  world.write(10, .join(invite: 2, person: 1), .exactly([0: 4]))
  world.write(20, .join(invite: 2, person: 2), .exactly([0: 4]))
  world.write(0, .confirm(device: 20), .exactly([20: 1]))
  world.write(0, .offer(person: 1, words: 1), .exactly([10: 1, 20: 1]))
  world.write(10, .accept(offer: 8), .exactly([0: 6, 20: 1]))
  world.write(20, .confirmHandover(accept: 9), .exactly([0: 6, 10: 2]))
  world.write(5, .setRole(person: 2, role: .member), .exactly([0: 6, 10: 1, 20: 1]))
  world.write(5, .revoke(device: 20), .exactly([0: 6, 10: 1, 20: 1]))
  return FoundHistory(name: "F8", history: world.history)
}

private func historyF9() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .child, forPerson: nil, uses: 2, needsApproval: false),
    .exactly([:]))
  world.write(60, .join(invite: 2, person: 26), .exactly([0: 2]))
  world.write(
    60, .invite(id: 3, role: .reader, forPerson: 26, uses: 1, needsApproval: false),
    .exactly([0: 2]))
  world.write(34, .join(invite: 3, person: 26), .exactly([0: 2, 60: 2]))
  world.write(0, .confirm(device: 34), .exactly([34: 1, 60: 2]))
  world.write(
    34, .invite(id: 4, role: .reader, forPerson: 26, uses: 1, needsApproval: false),
    .exactly([0: 2, 60: 2]))
  world.write(55, .join(invite: 4, person: 26), .exactly([0: 2, 34: 2, 60: 2]))
  world.write(4, .join(invite: 3, person: 26), .exactly([0: 2, 60: 2]))
  world.write(4, .leave, .exactly([0: 2, 60: 2]))
  world.write(
    55, .invite(id: 7, role: .reader, forPerson: 26, uses: 1, needsApproval: false),
    .exactly([0: 3, 34: 2, 60: 2]))
  world.write(24, .join(invite: 7, person: 26), .exactly([0: 3, 34: 2, 55: 2, 60: 2]))
  return FoundHistory(name: "F9", history: world.history)
}

private func historyF10() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .member, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(82, .join(invite: 2, person: 58), .exactly([0: 3]))
  world.write(
    0, .invite(id: 3, role: .reader, forPerson: 0, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(74, .join(invite: 3, person: 0), .exactly([0: 4]))
  world.write(74, .offer(person: 58, words: 1), .exactly([0: 4, 82: 1]))
  world.write(0, .confirm(device: 82), .exactly([82: 1]))
  world.write(82, .leave, .exactly([0: 4]))
  world.write(44, .join(invite: 2, person: 58), .exactly([0: 3]))
  world.write(44, .accept(offer: 6), .exactly([0: 5, 74: 2, 82: 1]))
  return FoundHistory(name: "F10", history: world.history)
}
