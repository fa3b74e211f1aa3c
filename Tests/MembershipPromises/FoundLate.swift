/// The histories F11 to F5c.
func foundLate() -> [FoundHistory] {
  [
    historyF11(), historyF12(), historyF1b(), historyF2b(), historyF2c(), historyF4b(),
    historyF4c(), historyF5b(), historyF13(), historyF5c(),
  ]
}

private func historyF11() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .child, forPerson: nil, uses: 3, needsApproval: false),
    .exactly([:]))
  world.write(70, .join(invite: 2, person: 18), .exactly([0: 2]))
  world.write(
    0, .invite(id: 3, role: .reader, forPerson: 0, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(12, .join(invite: 3, person: 0), .exactly([0: 3]))
  world.write(0, .setRole(person: 18, role: .admin), .exactly([70: 1]))
  world.write(12, .setRole(person: 18, role: .admin), .exactly([0: 3, 70: 1]))
  world.write(
    70, .invite(id: 6, role: .member, forPerson: nil, uses: 1, needsApproval: true),
    .exactly([0: 3, 12: 2]))
  world.write(70, .admit(invite: 6, device: 60, person: 59), .exactly([0: 3, 12: 2]))
  world.write(0, .confirm(device: 60), .exactly([12: 2, 70: 3]))
  return FoundHistory(name: "F11", history: world.history)
}

private func historyF12() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 2, needsApproval: false),
    .exactly([:]))
  world.write(22, .join(invite: 1, person: 33), .exactly([0: 3]))
  world.write(
    22, .invite(id: 3, role: .reader, forPerson: 33, uses: 1, needsApproval: false),
    .exactly([0: 3]))
  world.write(69, .join(invite: 3, person: 33), .exactly([0: 3, 22: 2]))
  world.write(0, .offer(person: 33, words: 1), .exactly([22: 2]))
  world.write(5, .join(invite: 3, person: 33), .exactly([0: 3, 22: 2]))
  world.write(0, .confirm(device: 69), .exactly([22: 2, 69: 1]))
  world.write(12, .join(invite: 3, person: 33), .exactly([0: 3, 22: 2]))
  world.write(5, .accept(offer: 6), .exactly([0: 5, 22: 2, 69: 1]))
  world.write(
    12, .seal(key: 1, devices: [3, 5, 12, 17, 21, 22, 24, 25, 39, 47, 69, 76, 79, 84, 85]),
    .exactly([0: 5, 5: 2, 22: 2, 69: 1]))
  return FoundHistory(name: "F12", history: world.history)
}

private func historyF1b() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 2, needsApproval: false),
    .exactly([:]))
  world.write(67, .join(invite: 1, person: 59), .exactly([0: 2]))
  world.write(0, .confirm(device: 67), .exactly([67: 1]))
  world.write(
    0, .invite(id: 2, role: .reader, forPerson: nil, uses: 2, needsApproval: false),
    .exactly([67: 1]))
  world.write(10, .join(invite: 2, person: 30), .exactly([0: 4, 67: 1]))
  world.write(0, .confirm(device: 10), .exactly([10: 1, 67: 1]))
  world.write(
    0, .invite(id: 8, role: .admin, forPerson: nil, uses: 1, needsApproval: true),
    .exactly([10: 1, 67: 1]))
  world.write(0, .admit(invite: 8, device: 3, person: 41), .exactly([10: 1, 67: 1]))
  world.write(81, .join(invite: 1, person: 59), .exactly([0: 2]))
  world.write(0, .remove(person: 41), .exactly([10: 1, 67: 1]))
  world.write(81, .remove(person: 30), .exactly([0: 7, 10: 1, 67: 1]))
  world.write(3, .remove(person: 30), .exactly([0: 7, 10: 1, 67: 1, 81: 2]))
  return FoundHistory(name: "F1b", history: world.history)
}

private func historyF2b() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 2, needsApproval: false),
    .exactly([:]))
  world.write(88, .join(invite: 1, person: 30), .exactly([0: 2]))
  world.write(
    0, .invite(id: 2, role: .child, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(52, .join(invite: 2, person: 27), .exactly([0: 3]))
  world.write(88, .leave, .exactly([0: 3]))
  world.write(0, .revoke(device: 88), .exactly([88: 1]))
  world.write(88, .setRole(person: 27, role: .member), .exactly([0: 3, 52: 1]))
  return FoundHistory(name: "F2b", history: world.history)
}

private func historyF2c() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(52, .join(invite: 2, person: 45), .exactly([0: 2]))
  world.write(0, .confirm(device: 52), .exactly([52: 1]))
  world.write(0, .revoke(device: 52), .exactly([52: 1]))
  world.write(52, .setWords(words: 2), .exactly([0: 3]))
  world.write(15, .recover(person: 45, words: 2, revokingOthers: true), .exactly([0: 3, 52: 2]))
  world.write(52, .setRole(person: 45, role: .child), .exactly([0: 3, 15: 1]))
  return FoundHistory(name: "F2c", history: world.history)
}

private func historyF4b() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(89, .join(invite: 2, person: 41), .exactly([0: 3]))
  world.write(28, .recover(person: 0, words: 1, revokingOthers: true), .exactly([0: 3, 89: 1]))
  world.write(89, .heartbeat, .exactly([0: 3, 28: 1]))
  world.write(0, .setWords(words: 2, consent: 1), .exactly([:]))
  return FoundHistory(name: "F4b", history: world.history)
}

private func historyF4c() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(73, .join(invite: 1, person: 25), .exactly([0: 2]))
  world.write(
    0, .invite(id: 2, role: .member, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(55, .join(invite: 2, person: 49), .exactly([0: 3]))
  world.write(
    73, .invite(id: 3, role: .reader, forPerson: 25, uses: 1, needsApproval: false),
    .exactly([0: 3]))
  world.write(74, .join(invite: 3, person: 25), .exactly([0: 3, 73: 2]))
  world.write(74, .setWords(words: 2), .exactly([0: 3, 73: 2]))
  world.write(
    75, .recover(person: 25, words: 2, revokingOthers: true),
    .exactly([0: 3, 73: 2, 74: 2]))
  world.write(0, .confirm(device: 75), .exactly([73: 2, 74: 2, 75: 1]))
  world.write(73, .setWords(words: 4), .exactly([0: 3]))
  world.write(75, .setRole(person: 49, role: .reader), .exactly([0: 3, 55: 1, 73: 2, 74: 2]))
  return FoundHistory(name: "F4c", history: world.history)
}

private func historyF5b() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(10, .join(invite: 1, person: 1), .exactly([0: 2]))
  world.write(
    0, .invite(id: 2, role: .member, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(20, .join(invite: 2, person: 2), .exactly([0: 3]))
  world.write(0, .confirm(device: 20), .exactly([20: 1]))
  world.write(
    20, .invite(id: 3, role: .reader, forPerson: 2, uses: 1, needsApproval: false),
    .exactly([0: 4]))
  world.write(21, .join(invite: 3, person: 2), .exactly([0: 4, 20: 2]))
  world.write(20, .revoke(device: 21), .exactly([0: 4, 21: 1]))
  world.write(10, .heartbeat, .exactly([0: 4, 20: 3, 21: 1]))
  world.write(21, .leave, .exactly([0: 4, 20: 2]))
  return FoundHistory(name: "F5b", history: world.history)
}

private func historyF13() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(10, .join(invite: 1, person: 1), .exactly([0: 3]))
  world.write(
    0, .invite(id: 3, role: .reader, forPerson: 0, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(5, .join(invite: 3, person: 0), .exactly([0: 4]))
  world.write(0, .offer(person: 1, words: 1), .exactly([10: 1]))
  world.write(5, .revoke(device: 0), .exactly([0: 5, 10: 1]))
  world.write(0, .withdraw, .exactly([10: 1]))
  world.write(10, .accept(offer: 6), .exactly([0: 6]))
  world.write(5, .remove(person: 1), .exactly([0: 5, 10: 1]))
  return FoundHistory(name: "F13", history: world.history)
}

private func historyF5c() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([:]))
  world.write(29, .join(invite: 1, person: 41), .exactly([0: 3]))
  world.write(
    29, .invite(id: 4, role: .reader, forPerson: 41, uses: 1, needsApproval: false),
    .exactly([0: 3]))
  world.write(24, .join(invite: 4, person: 41), .exactly([0: 3, 29: 2]))
  world.write(42, .recover(person: 0, words: 1, revokingOthers: true), .exactly([0: 3, 29: 2]))
  world.write(24, .revoke(device: 29), .exactly([0: 3, 29: 2]))
  world.write(42, .confirm(device: 24), .exactly([0: 3, 24: 2, 29: 2]))
  world.write(29, .leave, .exactly([0: 3]))
  return FoundHistory(name: "F5c", history: world.history)
}
