/// The histories F5d to F7b.
func foundLater() -> [FoundHistory] {
  [
    historyF5d(), historyF9b(), historyF14(), historyF14b(), historyF16(), historyF10b(),
    historyF15(), historyF7b(),
  ]
}

private func historyF5d() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .child, forPerson: nil, uses: 3, needsApproval: false),
    .exactly([:]))
  world.write(51, .join(invite: 2, person: 2), .exactly([0: 2]))
  world.write(
    51, .invite(id: 3, role: .reader, forPerson: 2, uses: 1, needsApproval: false),
    .exactly([0: 2]))
  world.write(10, .join(invite: 3, person: 2), .exactly([0: 2, 51: 2]))
  world.write(10, .revoke(device: 51), .exactly([0: 2, 51: 2]))
  world.write(0, .close(invite: 3), .exactly([10: 2, 51: 2]))
  world.write(51, .leave, .exactly([0: 2, 10: 1]))
  return FoundHistory(name: "F5d", history: world.history)
}

private func historyF9b() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(80, .join(invite: 2, person: 11), .exactly([0: 3]))
  world.write(
    0, .invite(id: 3, role: .reader, forPerson: 0, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(18, .join(invite: 3, person: 0), .exactly([0: 4]))
  world.write(0, .close(invite: 3), .exactly([18: 1]))
  world.write(18, .offer(person: 11, words: 1), .exactly([0: 5, 80: 1]))
  world.write(49, .join(invite: 3, person: 0), .exactly([0: 4]))
  world.write(49, .revoke(device: 0), .exactly([0: 4]))
  world.write(
    18, .invite(id: 5, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([0: 5, 80: 1]))
  world.write(76, .join(invite: 5, person: 40), .exactly([0: 5, 18: 3, 80: 1]))
  world.write(80, .accept(offer: 7), .exactly([0: 5, 18: 3]))
  world.write(0, .revoke(device: 76), .exactly([18: 3, 49: 2, 76: 1, 80: 1]))
  return FoundHistory(name: "F9b", history: world.history)
}

private func historyF14() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(7, .join(invite: 1, person: 2), .exactly([0: 3]))
  world.write(
    0, .invite(id: 2, role: .child, forPerson: nil, uses: 2, needsApproval: false),
    .exactly([:]))
  world.write(67, .join(invite: 2, person: 28), .exactly([0: 4]))
  world.write(
    0, .invite(id: 3, role: .reader, forPerson: 0, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(68, .join(invite: 3, person: 0), .exactly([0: 5]))
  world.write(
    27, .recover(person: 0, words: 1, revokingOthers: true),
    .exactly([0: 5, 7: 1, 68: 1]))
  world.write(7, .confirm(device: 67), .exactly([0: 5, 27: 1, 67: 1, 68: 1]))
  world.write(68, .offer(person: 2, words: 1), .exactly([0: 5, 7: 1]))
  world.write(7, .accept(offer: 10), .exactly([0: 5, 27: 1, 67: 1, 68: 2]))
  return FoundHistory(name: "F14", history: world.history)
}

private func historyF14b() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(66, .join(invite: 1, person: 43), .exactly([0: 3]))
  world.write(
    0, .invite(id: 3, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(25, .join(invite: 3, person: 47), .exactly([0: 4]))
  world.write(61, .recover(person: 0, words: 1, revokingOthers: false), .exactly([0: 4]))
  world.write(
    49, .recover(person: 0, words: 1, revokingOthers: true),
    .exactly([0: 4, 25: 1, 61: 1, 66: 1]))
  world.write(
    25, .invite(id: 8, role: .reader, forPerson: 47, uses: 1, needsApproval: false),
    .exactly([0: 4, 49: 1, 61: 1, 66: 1]))
  world.write(61, .offer(person: 43, words: 1), .exactly([0: 4, 66: 1]))
  world.write(66, .accept(offer: 9), .exactly([0: 4, 25: 2, 49: 1, 61: 2]))
  return FoundHistory(name: "F14b", history: world.history)
}

private func historyF16() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 3, needsApproval: false),
    .exactly([:]))
  world.write(9, .join(invite: 1, person: 31), .exactly([0: 2]))
  world.write(
    9, .invite(id: 2, role: .reader, forPerson: nil, uses: 2, needsApproval: false),
    .exactly([0: 2]))
  world.write(36, .join(invite: 2, person: 59), .exactly([0: 2, 9: 2]))
  world.write(2, .join(invite: 2, person: 59), .exactly([0: 2, 9: 2]))
  world.write(0, .confirm(device: 2), .exactly([2: 1, 9: 2]))
  world.write(30, .join(invite: 1, person: 59), .exactly([0: 2, 9: 2, 36: 1]))
  return FoundHistory(name: "F16", history: world.history)
}

private func historyF10b() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(70, .join(invite: 1, person: 32), .exactly([0: 3]))
  world.write(
    0, .invite(id: 2, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(31, .join(invite: 2, person: 8), .exactly([0: 4]))
  world.write(
    31, .invite(id: 3, role: .reader, forPerson: 8, uses: 1, needsApproval: false),
    .exactly([0: 4]))
  world.write(61, .join(invite: 3, person: 8), .exactly([0: 4, 31: 2]))
  world.write(0, .confirm(device: 61), .exactly([31: 2, 61: 1]))
  world.write(0, .offer(person: 8, words: 1), .exactly([31: 2, 61: 1]))
  world.write(0, .remove(person: 32), .exactly([31: 2, 61: 1, 70: 1]))
  world.write(52, .join(invite: 3, person: 8), .exactly([0: 4, 31: 2]))
  world.write(52, .accept(offer: 9), .exactly([0: 6, 31: 2, 61: 1]))
  return FoundHistory(name: "F10b", history: world.history)
}

private func historyF15() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(84, .join(invite: 1, person: 50), .exactly([0: 3]))
  world.write(53, .recover(person: 0, words: 1, revokingOthers: false), .exactly([0: 3]))
  world.write(0, .remove(person: 50), .exactly([84: 1]))
  world.write(84, .setRole(person: 10, role: .member), .exactly([0: 3, 53: 1]))
  world.write(0, .setWords(words: 2, consent: 1), .exactly([84: 1]))
  return FoundHistory(name: "F15", history: world.history)
}

private func historyF7b() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .reader, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(60, .join(invite: 2, person: 29), .exactly([0: 2]))
  world.write(
    0, .invite(id: 3, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(66, .join(invite: 3, person: 59), .exactly([0: 3]))
  world.write(
    0, .invite(id: 4, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(44, .join(invite: 4, person: 55), .exactly([0: 4]))
  world.write(44, .confirm(device: 60), .exactly([0: 4, 60: 1]))
  world.write(8, .join(invite: 2, person: 59), .exactly([0: 2]))
  return FoundHistory(name: "F7b", history: world.history)
}
