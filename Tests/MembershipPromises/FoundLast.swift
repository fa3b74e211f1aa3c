/// The histories F7c to F9f.
func foundLast() -> [FoundHistory] {
  [
    historyF7c(), historyF9c(), historyF9d(), historyF9e(), historyF4e(), historyF5e(),
    historyF5f(), historyF9f(),
  ]
}

private func historyF7c() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .member, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(32, .join(invite: 2, person: 38), .exactly([0: 2]))
  world.write(0, .confirm(device: 32), .exactly([32: 1]))
  world.write(
    0, .invite(id: 4, role: .admin, forPerson: nil, uses: 2, needsApproval: false),
    .exactly([32: 1]))
  world.write(83, .join(invite: 4, person: 48), .exactly([0: 4, 32: 1]))
  world.write(47, .join(invite: 2, person: 48), .exactly([0: 2]))
  return FoundHistory(name: "F7c", history: world.history)
}

private func historyF9c() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(86, .join(invite: 2, person: 28), .exactly([0: 3]))
  world.write(0, .confirm(device: 86), .exactly([86: 1]))
  world.write(
    0, .invite(id: 4, role: .member, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([86: 1]))
  world.write(58, .join(invite: 4, person: 29), .exactly([0: 5, 86: 1]))
  world.write(81, .recover(person: 0, words: 1, revokingOthers: true), .exactly([0: 5, 86: 1]))
  world.write(0, .setWords(words: 3, consent: 1), .exactly([86: 1]))
  world.write(86, .setRole(person: 29, role: .member), .exactly([0: 5, 58: 1, 81: 1]))
  world.write(50, .join(invite: 2, person: 15), .exactly([0: 3]))
  world.write(50, .setWords(words: 5), .exactly([0: 6, 86: 1]))
  return FoundHistory(name: "F9c", history: world.history)
}

private func historyF9d() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(20, .join(invite: 2, person: 52), .exactly([0: 2]))
  world.write(
    0, .invite(id: 3, role: .member, forPerson: nil, uses: 3, needsApproval: false),
    .exactly([:]))
  world.write(66, .join(invite: 3, person: 60), .exactly([0: 3]))
  world.write(
    20, .invite(id: 5, role: .reader, forPerson: 52, uses: 1, needsApproval: false),
    .exactly([0: 3]))
  world.write(48, .join(invite: 5, person: 52), .exactly([0: 3, 20: 2]))
  world.write(0, .close(invite: 3), .exactly([66: 1]))
  world.write(38, .join(invite: 3, person: 60), .exactly([0: 3]))
  world.write(38, .revoke(device: 66), .exactly([0: 3, 66: 1]))
  world.write(66, .leave, .exactly([0: 3]))
  world.write(48, .revoke(device: 66), .exactly([0: 3, 20: 2, 38: 2, 66: 1]))
  return FoundHistory(name: "F9d", history: world.history)
}

private func historyF9e() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 3, needsApproval: false),
    .exactly([:]))
  world.write(
    0, .invite(id: 3, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(65, .join(invite: 3, person: 8), .exactly([0: 4]))
  world.write(0, .confirm(device: 65), .exactly([65: 1]))
  world.write(85, .recover(person: 0, words: 1, revokingOthers: false), .exactly([0: 5, 65: 1]))
  world.write(37, .join(invite: 1, person: 8), .exactly([0: 3]))
  world.write(85, .revoke(device: 0), .exactly([0: 5, 65: 1]))
  world.write(37, .setWords(words: 2), .exactly([0: 5, 65: 1]))
  world.write(
    41, .recover(person: 8, words: 2, revokingOthers: true),
    .exactly([0: 5, 37: 2, 65: 1]))
  world.write(0, .offer(person: 8, words: 1), .exactly([65: 1]))
  world.write(65, .accept(offer: 11), .exactly([0: 6, 37: 2, 41: 1]))
  return FoundHistory(name: "F9e", history: world.history)
}

private func historyF4e() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(4, .join(invite: 1, person: 40), .exactly([0: 3]))
  world.write(76, .recover(person: 0, words: 1, revokingOthers: true), .exactly([0: 3, 4: 1]))
  world.write(4, .leave, .exactly([0: 3, 76: 1]))
  world.write(0, .setWords(words: 2, consent: 1), .exactly([:]))
  world.write(0, .setRole(person: 40, role: .member), .exactly([4: 1]))
  return FoundHistory(name: "F4e", history: world.history)
}

private func historyF5e() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(71, .join(invite: 1, person: 39), .exactly([0: 2]))
  world.write(
    71, .invite(id: 3, role: .reader, forPerson: 39, uses: 1, needsApproval: false),
    .exactly([0: 2]))
  world.write(90, .join(invite: 3, person: 39), .exactly([0: 2, 71: 2]))
  world.write(90, .revoke(device: 71), .exactly([0: 2, 71: 2]))
  world.write(0, .confirm(device: 90), .exactly([71: 2, 90: 2]))
  world.write(71, .leave, .exactly([0: 2]))
  return FoundHistory(name: "F5e", history: world.history)
}

private func historyF5f() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(12, .join(invite: 2, person: 42), .exactly([0: 2]))
  world.write(
    0, .invite(id: 3, role: .member, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(44, .join(invite: 3, person: 23), .exactly([0: 3]))
  world.write(
    12, .invite(id: 4, role: .reader, forPerson: 42, uses: 1, needsApproval: false),
    .exactly([0: 2]))
  world.write(61, .join(invite: 4, person: 42), .exactly([0: 2, 12: 2]))
  world.write(61, .revoke(device: 12), .exactly([0: 2, 12: 2]))
  world.write(
    0, .invite(id: 5, role: .member, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([12: 2, 61: 2]))
  world.write(61, .remove(person: 23), .exactly([0: 3, 12: 2, 44: 1]))
  world.write(12, .setRole(person: 42, role: .child), .exactly([0: 3]))
  return FoundHistory(name: "F5f", history: world.history)
}

private func historyF9f() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(64, .join(invite: 1, person: 19), .exactly([0: 2]))
  world.write(
    64, .invite(id: 3, role: .reader, forPerson: nil, uses: 3, needsApproval: false),
    .exactly([0: 2]))
  world.write(47, .join(invite: 3, person: 39), .exactly([0: 2, 64: 2]))
  world.write(
    47, .invite(id: 8, role: .reader, forPerson: 39, uses: 1, needsApproval: false),
    .exactly([0: 2, 64: 2]))
  world.write(33, .join(invite: 8, person: 39), .exactly([0: 2, 47: 2, 64: 2]))
  world.write(
    33, .invite(id: 9, role: .reader, forPerson: 39, uses: 1, needsApproval: false),
    .exactly([0: 2, 47: 2, 64: 2]))
  world.write(31, .join(invite: 9, person: 39), .exactly([0: 2, 33: 2, 47: 2, 64: 2]))
  world.write(80, .join(invite: 9, person: 39), .exactly([0: 2, 33: 2, 47: 2, 64: 2]))
  world.write(64, .setRole(person: 39, role: .member), .exactly([0: 2, 47: 1]))
  world.write(31, .revoke(device: 33), .exactly([0: 2, 33: 2, 47: 2, 64: 3]))
  world.write(0, .confirm(device: 31), .exactly([31: 1, 33: 2, 47: 2, 64: 3]))
  world.write(80, .leave, .exactly([0: 2, 33: 2, 47: 2, 64: 3]))
  return FoundHistory(name: "F9f", history: world.history)
}
