/// Histories of which a random search found each in 100,000 others, in the words of the promises
/// that they broke.
func foundNewest() -> [FoundHistory] {
  [
    historyG1(), historyG2(), historyG3(), historyG4(), historyG5(), historyG6(), historyG7(),
    historyG8(), historyG9(), historyG10(), historyG11(), historyG12(), historyG13(),
    historyG14(), historyG15(), historyG16(), historyG17(), historyG18(),
  ]
}

/// The owner makes an admin a reader; the admin makes itself one as if before, and another admin
/// who had seen only that revokes its device: that holds.
private func historyG1() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 3, needsApproval: false), .exactly([:]))
  world.write(12, .join(invite: 1, person: 28), .exactly([0: 2]))
  world.write(
    0, .invite(id: 2, role: .admin, forPerson: nil, uses: 1, needsApproval: false),
    .exactly([12: 1]))
  world.write(30, .join(invite: 2, person: 22), .exactly([0: 3, 12: 1]))
  world.write(0, .confirm(device: 12), .exactly([12: 1, 30: 1]))
  world.write(0, .confirm(device: 30), .exactly([12: 1, 30: 1]))
  world.write(0, .setRole(person: 28, role: .reader), .exactly([12: 1, 30: 1]))
  world.write(12, .setRole(person: 28, role: .reader), .exactly([0: 2]))
  world.write(30, .revoke(device: 12), .exactly([0: 3, 12: 2]))
  return FoundHistory(name: "G1", history: world.history)
}

/// An admin who had seen a recovery takes an offer by the device that it ended; that the owner goes
/// on with a further recovery, having seen this, confirms nothing.
private func historyG2() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 3, needsApproval: false), .exactly([:]))
  world.write(37, .join(invite: 1, person: 41), .exactly([0: 3]))
  world.write(68, .recover(person: 0, words: 1, revokingOthers: true), .exactly([0: 3, 37: 1]))
  world.write(
    37, .invite(id: 4, role: .member, forPerson: nil, uses: 1, needsApproval: true),
    .exactly([0: 3]))
  world.write(37, .admit(invite: 4, device: 15, person: 42), .exactly([0: 3]))
  world.write(37, .confirm(device: 15), .exactly([0: 3, 68: 1]))
  let offer = world.write(0, .offer(person: 41, words: 1), .exactly([37: 1]))
  world.write(37, .accept(offer: offer), .exactly([0: 4, 68: 1]))
  world.write(
    61, .recover(person: 0, words: 1, revokingOthers: true), .exactly([0: 4, 37: 5, 68: 1]))
  return FoundHistory(name: "G2", history: world.history)
}

/// Whoever holds the owner's lost device replaces the words and lets an admin in, as if before the
/// recovery that another admin had seen: the one who came so is no witness against it.
private func historyG3() -> FoundHistory {
  var world = World(liars: [0, 72])
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(80, .join(invite: 1, person: 51), .exactly([0: 3]))
  world.write(63, .recover(person: 0, words: 1, revokingOthers: true), .exactly([0: 3, 80: 1]))
  world.write(80, .close(invite: 1), .exactly([0: 3, 63: 1]))
  world.write(0, .setWords(words: 2, consent: 1), .exactly([:]))
  world.write(
    0, .invite(id: 3, role: .admin, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(72, .join(invite: 3, person: 15), .exactly([0: 5]))
  return FoundHistory(name: "G3", history: world.history)
}

/// An admin who had seen a recovery takes an offer by a device that it ended.
private func historyG4() -> FoundHistory {
  var world = World(liars: [7])
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(39, .join(invite: 1, person: 7), .exactly([0: 3]))
  world.write(
    0, .invite(id: 2, role: .reader, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(7, .join(invite: 2, person: 25), .exactly([0: 4]))
  world.write(
    0, .invite(id: 3, role: .reader, forPerson: 0, uses: 1, needsApproval: false), .exactly([:]))
  world.write(40, .join(invite: 3, person: 0), .exactly([0: 5]))
  world.write(
    42, .recover(person: 0, words: 1, revokingOthers: true), .exactly([0: 5, 39: 1, 40: 1]))
  world.write(39, .remove(person: 25), .exactly([0: 5, 7: 1, 40: 1, 42: 1]))
  let offer = world.write(40, .offer(person: 7, words: 1), .exactly([0: 5, 39: 1]))
  world.write(39, .accept(offer: offer), .exactly([0: 5, 7: 1, 40: 2, 42: 1]))
  return FoundHistory(name: "G4", history: world.history)
}

/// Two devices of the owner revoke each other; what an admin states without a closed past spares
/// nothing that one of them wrote.
private func historyG5() -> FoundHistory {
  var world = World(liars: [41])
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 3, needsApproval: false), .exactly([:]))
  world.write(41, .join(invite: 1, person: 42), .exactly([0: 2]))
  world.write(
    0, .invite(id: 3, role: .reader, forPerson: 0, uses: 1, needsApproval: false), .exactly([:]))
  world.write(27, .join(invite: 3, person: 0), .exactly([0: 3]))
  world.write(
    0, .invite(id: 4, role: .member, forPerson: nil, uses: 1, needsApproval: true), .exactly([:]))
  world.write(0, .admit(invite: 4, device: 36, person: 46), .exactly([:]))
  world.write(15, .join(invite: 6, person: 60), .exactly([:]))
  world.write(41, .close(invite: 8), .exactly([15: 1]))
  world.write(27, .revoke(device: 0), .exactly([0: 3, 41: 1]))
  world.write(41, .remove(person: 0), .exactly([0: 5]))
  world.write(0, .revoke(device: 27), .exactly([27: 1]))
  return FoundHistory(name: "G5", history: world.history)
}

/// The owner names new words beside a recovery by the old ones; what an admin states without a
/// closed past decides nothing between the two.
private func historyG6() -> FoundHistory {
  var world = World(liars: [67])
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 3, needsApproval: false), .exactly([:]))
  world.write(67, .join(invite: 1, person: 33), .exactly([0: 3]))
  world.write(55, .recover(person: 0, words: 1, revokingOthers: false), .exactly([0: 3]))
  world.write(0, .setWords(words: 2, consent: 1), .exactly([:]))
  world.write(67, .leave, .exactly([55: 1]))
  return FoundHistory(name: "G6", history: world.history)
}

/// A device closes and lowers between two joinings by one invitation, which so give two ranks: one
/// use is one use.
private func historyG7() -> FoundHistory {
  var world = World(liars: [78, 12, 62])
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(78, .join(invite: 1, person: 48), .exactly([0: 2]))
  world.write(
    78, .invite(id: 2, role: .reader, forPerson: 48, uses: 1, needsApproval: false),
    .exactly([0: 2]))
  world.write(12, .join(invite: 2, person: 48), .exactly([0: 2, 78: 2]))
  world.write(78, .setRole(person: 48, role: .member), .exactly([0: 2]))
  world.write(62, .join(invite: 2, person: 48), .exactly([0: 2, 78: 3]))
  return FoundHistory(name: "G7", history: world.history)
}

/// Whoever holds the owner's lost device replaces the words and makes a member an admin, as if
/// before the recovery that another admin had seen: that one is no witness against it.
private func historyG8() -> FoundHistory {
  var world = World(liars: [90, 57, 22])
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 2, needsApproval: false), .exactly([:]))
  world.write(90, .join(invite: 1, person: 12), .exactly([0: 3]))
  world.write(
    0, .invite(id: 2, role: .member, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(57, .join(invite: 2, person: 16), .exactly([0: 4]))
  world.write(
    0, .invite(id: 3, role: .reader, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(26, .recover(person: 0, words: 1, revokingOthers: true), .exactly([0: 5, 90: 1]))
  world.write(22, .join(invite: 3, person: 22), .exactly([0: 5]))
  world.write(90, .remove(person: 22), .exactly([0: 5, 22: 1, 26: 1]))
  world.write(0, .setWords(words: 2, consent: 1), .exactly([:]))
  world.write(0, .setRole(person: 16, role: .admin), .exactly([57: 1]))
  world.write(57, .withdraw, .exactly([0: 7]))
  return FoundHistory(name: "G8", history: world.history)
}

/// An admin's recovery, which another admin had seen, goes before new words that the ended device
/// names as if before.
private func historyG9() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(24, .join(invite: 1, person: 28), .exactly([0: 2]))
  world.write(
    0, .invite(id: 3, role: .admin, forPerson: nil, uses: 3, needsApproval: false), .exactly([:]))
  world.write(33, .join(invite: 3, person: 52), .exactly([0: 3]))
  world.write(24, .setWords(words: 1), .exactly([0: 2]))
  world.write(30, .recover(person: 28, words: 1, revokingOthers: true), .exactly([0: 3, 24: 2]))
  world.write(
    33, .invite(id: 7, role: .child, forPerson: nil, uses: 3, needsApproval: false),
    .exactly([0: 3, 24: 2, 30: 1]))
  world.write(24, .setWords(words: 2, consent: 1), .exactly([0: 3]))
  return FoundHistory(name: "G9", history: world.history)
}

/// One of two devices that came by the same use hands a key to the other: who would be out by a
/// confirmation does not make it.
private func historyG10() -> FoundHistory {
  var world = World(liars: [0, 54, 31, 87, 60])
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 3, role: .member, forPerson: nil, uses: 3, needsApproval: false), .exactly([:]))
  world.write(54, .join(invite: 3, person: 15), .exactly([0: 3]))
  world.write(
    54, .invite(id: 4, role: .reader, forPerson: 15, uses: 1, needsApproval: false),
    .exactly([0: 3]))
  world.write(64, .join(invite: 4, person: 15), .exactly([0: 3, 54: 2]))
  world.write(
    64, .invite(id: 6, role: .reader, forPerson: 15, uses: 1, needsApproval: false),
    .exactly([0: 3, 54: 2]))
  world.write(31, .join(invite: 6, person: 15), .exactly([0: 3, 54: 2, 64: 2]))
  let offer = world.write(0, .offer(person: 15, words: 1), .exactly([54: 2]))
  world.write(
    31, .invite(id: 7, role: .reader, forPerson: 15, uses: 1, needsApproval: false),
    .exactly([0: 4, 54: 2, 64: 2]))
  world.write(87, .join(invite: 7, person: 15), .exactly([0: 4, 31: 2, 54: 2, 64: 2]))
  world.write(60, .join(invite: 7, person: 15), .exactly([0: 4, 31: 2, 54: 2, 64: 2]))
  world.write(64, .accept(offer: offer), .exactly([0: 4, 54: 2]))
  world.write(
    60, .seal(key: 1, devices: [0, 31, 54, 60, 87]),
    .exactly([0: 4, 31: 2, 54: 2, 64: 3, 87: 1]))
  return FoundHistory(name: "G10", history: world.history)
}

/// A person left, as the owner had seen; whoever holds another of the person's devices leaves once
/// more with a device that it brings in as if before: the person stays out.
private func historyG11() -> FoundHistory {
  var world = World(liars: [77])
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .reader, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(43, .join(invite: 2, person: 29), .exactly([0: 2]))
  world.write(
    43, .invite(id: 3, role: .reader, forPerson: 29, uses: 1, needsApproval: false),
    .exactly([0: 2]))
  world.write(39, .join(invite: 3, person: 29), .exactly([0: 2, 43: 2]))
  world.write(
    43, .invite(id: 4, role: .reader, forPerson: 29, uses: 1, needsApproval: false),
    .exactly([0: 2]))
  world.write(62, .join(invite: 4, person: 29), .exactly([0: 2, 43: 3]))
  world.write(
    62, .invite(id: 6, role: .reader, forPerson: 29, uses: 1, needsApproval: false),
    .exactly([0: 2, 43: 3]))
  world.write(42, .join(invite: 6, person: 29), .exactly([0: 2, 43: 3, 62: 2]))
  world.write(39, .leave, .exactly([0: 2, 43: 2]))
  world.write(
    0, .invite(id: 14, role: .reader, forPerson: 0, uses: 1, needsApproval: false),
    .exactly([39: 2, 43: 3]))
  world.write(77, .join(invite: 6, person: 29), .exactly([0: 2, 43: 3, 62: 2]))
  world.write(77, .leave, .exactly([0: 2, 42: 1, 43: 3, 62: 2]))
  return FoundHistory(name: "G11", history: world.history)
}

/// An heir offers the group back, and the former owner accepts without having seen that its other
/// device confirmed the first hand-over: a confirmation ends no later hand-over.
private func historyG12() -> FoundHistory {
  var world = World()
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(39, .join(invite: 1, person: 49), .exactly([0: 3]))
  world.write(
    0, .invite(id: 5, role: .reader, forPerson: 0, uses: 1, needsApproval: false), .exactly([:]))
  world.write(39, .setWords(words: 2), .exactly([0: 3]))
  world.write(12, .join(invite: 5, person: 0), .exactly([0: 4]))
  world.write(
    0, .invite(id: 7, role: .reader, forPerson: 0, uses: 1, needsApproval: false), .exactly([:]))
  world.write(65, .join(invite: 7, person: 0), .exactly([0: 5]))
  let offer = world.write(65, .offer(person: 49, words: 1), .exactly([0: 5, 39: 1]))
  let acceptance = world.write(39, .accept(offer: offer), .exactly([0: 5, 12: 1, 65: 2]))
  let back = world.write(39, .offer(person: 0, words: 2), .exactly([0: 5, 12: 1, 65: 2]))
  world.write(65, .accept(offer: back), .exactly([0: 5, 12: 1, 39: 4]))
  world.write(12, .confirmHandover(accept: acceptance), .exactly([0: 5, 39: 4, 65: 2]))
  return FoundHistory(name: "G12", history: world.history)
}

/// A person left, as the owner had seen; whoever holds another of the person's devices closes, as
/// if before, the link by which the device had come that left: the person stays out.
private func historyG13() -> FoundHistory {
  var world = World(liars: [77])
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 2, role: .reader, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(43, .join(invite: 2, person: 29), .exactly([0: 2]))
  world.write(
    43, .invite(id: 3, role: .reader, forPerson: 29, uses: 1, needsApproval: false),
    .exactly([0: 2]))
  world.write(39, .join(invite: 3, person: 29), .exactly([0: 2, 43: 2]))
  world.write(
    43, .invite(id: 4, role: .reader, forPerson: 29, uses: 1, needsApproval: false),
    .exactly([0: 2]))
  world.write(62, .join(invite: 4, person: 29), .exactly([0: 2, 43: 3]))
  world.write(
    62, .invite(id: 6, role: .reader, forPerson: 29, uses: 1, needsApproval: false),
    .exactly([0: 2, 43: 3]))
  world.write(42, .join(invite: 6, person: 29), .exactly([0: 2, 43: 3, 62: 2]))
  world.write(39, .leave, .exactly([0: 2, 43: 2]))
  world.write(
    0, .invite(id: 14, role: .reader, forPerson: 0, uses: 1, needsApproval: false),
    .exactly([39: 2, 43: 3]))
  world.write(77, .join(invite: 6, person: 29), .exactly([0: 2, 43: 3, 62: 2]))
  world.write(77, .close(invite: 3), .exactly([0: 2, 42: 1, 43: 3, 62: 2]))
  return FoundHistory(name: "G13", history: world.history)
}

/// A person revoked a device, as the owner had seen; whoever holds it and knows the words replaces
/// them as if before, and lets a further device in by the new ones: that device is out.
private func historyG14() -> FoundHistory {
  var world = World(liars: [26, 63])
  world.write(0, .found, .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(26, .join(invite: 1, person: 27), .exactly([0: 2]))
  world.write(
    26, .invite(id: 3, role: .reader, forPerson: 27, uses: 1, needsApproval: false),
    .exactly([0: 2]))
  world.write(68, .join(invite: 3, person: 27), .exactly([0: 2, 26: 2]))
  world.write(68, .setWords(words: 1), .exactly([0: 2, 26: 2]))
  world.write(68, .revoke(device: 26), .exactly([0: 2, 26: 2]))
  world.write(0, .confirm(device: 68), .exactly([26: 2, 68: 3]))
  world.write(26, .setWords(words: 4, consent: 1), .exactly([0: 2, 68: 2]))
  world.write(
    63, .recover(person: 27, words: 4, revokingOthers: false),
    .exactly([0: 2, 26: 3, 68: 2]))
  return FoundHistory(name: "G14", history: world.history)
}

/// How a device of a member ended, which then accepted the group as if before.
private enum HeirsEnd {
  case recovery, revocation
}

/// A member ended one of its devices, as an admin had seen; a second device of the owner offers the
/// group to the member, and the ended device accepts.
private func endedHeir(_ end: HeirsEnd, silence: Bool = false) -> History {
  var world = World(liars: [54, 72])
  world.write(0, .found, .exactly([:]))
  world.write(0, .setWords(words: 1), .exactly([:]))
  world.write(
    0, .invite(id: 1, role: .admin, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(38, .join(invite: 1, person: 39), .exactly([0: 3]))
  world.write(
    0, .invite(id: 2, role: .member, forPerson: nil, uses: 1, needsApproval: false), .exactly([:]))
  world.write(54, .join(invite: 2, person: 55), .exactly([0: 4]))
  world.write(
    0, .invite(id: 5, role: .reader, forPerson: 0, uses: 1, needsApproval: false), .exactly([:]))
  world.write(72, .join(invite: 5, person: 0), .exactly([0: 5]))
  let offer = world.write(72, .offer(person: 55, words: 1), .exactly([0: 5, 54: 1]))
  switch end {
  case .recovery:
    world.write(54, .setWords(words: 2), .exactly([0: 4]))
    world.write(66, .recover(person: 55, words: 2, revokingOthers: true), .exactly([0: 4, 54: 2]))
  case .revocation:
    world.write(
      54, .invite(id: 6, role: .reader, forPerson: 55, uses: 1, needsApproval: false),
      .exactly([0: 4]))
    world.write(66, .join(invite: 6, person: 55), .exactly([0: 4, 54: 2]))
    world.write(66, .revoke(device: 54), .exactly([0: 4, 54: 2]))
  }
  let last = end == .recovery ? 1 : 2
  world.write(38, .confirm(device: 66), .exactly([0: 4, 54: 2, 66: last]))
  world.write(54, .accept(offer: offer), .exactly([0: 5, 72: 2]))
  if silence { world.write(0, .heartbeat, .exactly([38: 2, 54: 3, 66: last, 72: 2])) }
  return world.history
}

/// The owner stays who it is: the device is out.
private func historyG15() -> FoundHistory {
  FoundHistory(name: "G15", history: endedHeir(.recovery))
}

/// The same where a further device of the member revoked the device.
private func historyG16() -> FoundHistory {
  FoundHistory(name: "G16", history: endedHeir(.revocation))
}

/// The same where the owner goes on, having seen everything: its silence confirms nothing.
private func historyG17() -> FoundHistory {
  FoundHistory(name: "G17", history: endedHeir(.recovery, silence: true))
}

/// A second device of the owner replaces the words, a third recovers with the new ones and ends the
/// others, as an admin has seen; the first, which saw none of it, replaces the old words and lets
/// somebody in: it is out, and nobody came by it.
private func historyG18() -> FoundHistory {
  var world = World()
  world.write(0, .found)
  world.write(0, .setWords(words: 1))
  world.welcome(45, as: 46, .admin, host: 0)
  world.welcome(71, as: 0, .owner, host: 0)
  world.sync(0, 71)
  world.write(71, .setWords(words: 2, consent: 1))
  world.sync(71, 53)
  world.write(53, .recover(person: 0, words: 2, revokingOthers: true))
  world.sync(53, 45)
  world.write(45, .heartbeat)
  world.write(0, .setWords(words: 3, consent: 1))
  world.welcome(24, as: 25, .reader, host: 0)
  return FoundHistory(name: "G18", history: world.history)
}
