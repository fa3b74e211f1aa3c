/// The regression plans T1 to T5.
///
/// Device 0 is Anna's, who founds the group.

/// T1: the founder hands over to Berta, who removes him.
///
/// His second device had seen the link by which Berta and Cora came, but neither of them, and
/// closes it now.
func planT1(claimingAll: Bool) -> Plan {
  var world = World.founded(liars: [5])
  world.welcome(5, as: 0, .owner, host: 0, forPerson: 0)
  world.write(0, .setWords(words: 1))
  let number = world.link(by: 0, .admin, uses: 2)
  let seen = world.issue(of: number)
  world.deliver(seen, to: 5)
  world.enter(10, as: 1, by: number, host: 0)
  world.enter(20, as: 2, by: number, host: 0)
  let offer = world.write(0, .offer(person: 1, words: 1))
  world.sync(0, 10)
  let accept = world.write(10, .accept(offer: offer))
  world.sync(10, 0)
  world.write(0, .confirmHandover(accept: accept))
  world.sync(0, 10)
  world.write(10, .remove(person: 0))
  world.sync(10, 20)
  world.write(20, .heartbeat)
  if claimingAll { world.sync(20, 5) }
  world.write(5, .close(invite: number), claimingAll ? .everything : .asOf(seen))
  world.write(5, .revoke(device: 10), claimingAll ? .everything : .nothingNew)
  return Plan(
    claimingAll ? "T1b" : "T1a", "former owner's second device closes the new owner's link",
    world,
    [
      .owner(1), .gone(0), .role(2, .admin), .active(10), .active(20), .inactive(0),
      .inactive(5),
    ])
}

/// T1 without any removal: the hand-over alone, which Cora confirmed, must hold.
func planT1Unremoved() -> Plan {
  var world = World.founded(liars: [5])
  world.welcome(5, as: 0, .owner, host: 0, forPerson: 0)
  world.write(0, .setWords(words: 1))
  let number = world.link(by: 0, .admin, uses: 2)
  let seen = world.issue(of: number)
  world.deliver(seen, to: 5)
  world.enter(10, as: 1, by: number, host: 0)
  world.enter(20, as: 2, by: number, host: 0)
  let offer = world.write(0, .offer(person: 1, words: 1))
  world.sync(0, 10)
  let accept = world.write(10, .accept(offer: offer))
  world.sync(10, 20)
  world.write(20, .confirmHandover(accept: accept))
  world.sync(20, 10)
  world.write(5, .close(invite: number), .asOf(seen))
  return Plan(
    "T1c", "the same before anybody removes him", world,
    [.owner(1), .role(2, .admin), .active(10), .active(20)])
}

/// T2: a removed admin, offline since, closes the owner's link; Eve came by it afterwards.
func planT2() -> Plan {
  var world = World.founded(liars: [30])
  world.welcome(30, as: 3, .admin, host: 0)
  let number = world.link(by: 0, .admin, uses: 2)
  let seen = world.issue(of: number)
  world.deliver(seen, to: 30)
  world.write(0, .remove(person: 3))
  world.enter(40, as: 4, by: number, host: 0)
  world.write(30, .close(invite: number))
  world.sync(30, 0)
  world.sync(30, 40)
  world.write(0, .heartbeat)
  return Plan(
    "T2", "a removed admin closes the link by which Eve came", world,
    [.owner(0), .gone(3), .role(4, .admin), .active(40)])
}

/// T3: Berta's device, with an old view, closes the expired link; Ben had joined in time and
/// Cora confirms him, before the closing (`late` false) or after it without knowing of it.
func planT3(late: Bool) -> Plan {
  var world = World.founded()
  world.welcome(10, as: 1, .admin, host: 0)
  world.welcome(20, as: 2, .admin, host: 0)
  let number = world.link(by: 0, .member)
  world.sync(0, 10)
  world.sync(0, 20)
  world.sync(0, 50)
  world.write(50, .join(invite: number, person: 5))
  if late { world.write(10, .close(invite: number)) }
  world.sync(50, 20)
  world.write(20, .confirm(device: 50))
  if !late { world.write(10, .close(invite: number)) }
  world.syncAll([0, 10, 20, 50])
  world.write(0, .heartbeat)
  return Plan(
    late ? "T3b" : "T3a", "an honest closing from an old view", world,
    [.owner(0), .role(5, .member), .active(50)])
}

/// T4: on day 400 somebody finds the used link, claims the past of day 0 and has a lower
/// device number than Ben.
func planT4(closed: Bool, removedHelper: Bool = false) -> Plan {
  var world = World.founded(liars: [3, 30])
  world.welcome(30, as: 3, .admin, host: 0)
  world.welcome(10, as: 1, .admin, host: 0)
  let number = world.link(by: 0, .member)
  let seen = world.issue(of: number)
  world.deliver(seen, to: 30)
  world.enter(50, as: 5, by: number, host: 0)
  if closed { world.write(0, .close(invite: number)) }
  if removedHelper { world.write(0, .remove(person: 3)) }
  for _ in 0..<3 {
    world.meet(0, 10)
    world.write(0, .heartbeat)
    world.write(10, .heartbeat)
  }
  world.write(3, .join(invite: number, person: 6), .asOf(seen))
  if removedHelper {
    world.sync(3, 30)
    world.write(30, .confirm(device: 3), .exactly(confirming(world, 30, 3)))
  }
  let name = removedHelper ? "T4c" : closed ? "T4b" : "T4a"
  return Plan(
    name, "a finder of the used link on day 400", world,
    [.role(5, .member), .active(50), .gone(6), .inactive(3)])
}

/// The past that `liar` last claimed, together with the joining of `device`.
private func confirming(_ world: World, _ liar: Int, _ device: Int) -> [Int: Int] {
  var counts: [Int: Int] = [:]
  for act in world.acts where act.device == liar || act.device == device {
    counts = World.union(counts, world.past(of: act.id))
  }
  counts[liar] = nil
  return counts
}

/// T5: the second holder of a two-use link joins under Ben's person number, with older claims.
func planT5(confirmedFirst: Bool) -> Plan {
  var world = World.founded(liars: [3])
  let number = world.link(by: 0, .member, uses: 2)
  let seen = world.issue(of: number)
  world.write(0, .heartbeat)
  world.enter(50, as: 5, by: number, host: 0, confirm: confirmedFirst)
  if !confirmedFirst { world.write(50, .heartbeat) }
  let theft = world.write(3, .join(invite: number, person: 5), .asOf(seen))
  world.deliver(theft, to: 50)
  if !confirmedFirst { world.write(0, .confirm(device: 50)) }
  return Plan(
    confirmedFirst ? "T5a" : "T5b", "a second holder takes Ben's person number", world,
    [.role(5, .member), .active(50), .inactive(3)])
}

/// T5 under a number that Ben's device made, with a lying admin who confirms the second holder.
///
/// Ben is confirmed by another admin or by nobody, and is earlier in the order or later.
func planT5Made(isConfirmed: Bool, isEarlier: Bool) -> Plan {
  let ben = Maker.person(of: 50)
  var world = World.founded(liars: [3, 30])
  world.welcome(30, as: 3, .admin, host: 0)
  world.welcome(10, as: 1, .admin, host: 0)
  let number = world.link(by: 0, .member, uses: 3)
  let seen = world.issue(of: number)
  world.deliver(seen, to: 10)
  for _ in 0..<3 { world.write(0, .heartbeat) }
  let later = world.acts.count - 1
  world.deliver(isEarlier ? seen : later, to: 50)
  world.write(50, .join(invite: number, person: ben))
  if isConfirmed {
    world.sync(50, 10)
    world.write(10, .confirm(device: 50))
  }
  let theft = world.write(
    3, .join(invite: number, person: ben), .asOf(isEarlier ? later : seen))
  world.write(30, .confirm(device: 3), .asOf(theft))
  world.syncAll([0, 10, 50])
  world.write(10, .heartbeat)
  return Plan(
    "T5" + (isConfirmed ? (isEarlier ? "c" : "d") : (isEarlier ? "e" : "f")),
    "a second holder takes the number that Ben's device made", world,
    [.role(ben, .member), .active(50), .inactive(3), .owner(0), .role(1, .admin)])
}
