/// The regression plans T6 to T10 and the list of all; those with clocks are in `PlansClocks`.

/// T6: the owner's phone is stolen; a finished recovery; then a fresh device of the thief
/// cites Berta at her last act without what Berta had seen there.
func planT6(fresh: Bool) -> Plan {
  var world = World.founded(liars: [0, 31])
  world.write(0, .setWords(words: 1))
  world.welcome(10, as: 1, .admin, host: 0)
  let before = world.acts.count - 1
  world.sync(10, 30)
  world.write(30, .recover(person: 0, words: 1, revokingOthers: true))
  world.sync(30, 10)
  world.write(10, .confirm(device: 30))
  for _ in 0..<5 { world.write(10, .heartbeat) }
  world.sync(10, 30)
  let count = world.received[10]?[10] ?? 0
  var thief = 0
  if fresh {
    let number = world.newInvite()
    world.write(
      0,
      .invite(id: number, role: .owner, forPerson: 0, uses: 1, needsApproval: false),
      .asOf(before))
    thief = 31
    world.write(31, .join(invite: number, person: 0), .asOf(world.acts.count - 1))
  }
  var claims = world.past(of: world.acts.count - 1)
  claims[thief] = nil
  if !fresh { claims = world.past(of: before) }
  claims[30] = nil
  claims[10] = count
  claims[thief] = nil
  world.write(thief, .revoke(device: 30), .exactly(claims))
  world.write(thief, .remove(person: 1), .exactly(claims))
  return Plan(
    fresh ? "T6a" : "T6b", "a thief cites Berta without what she had seen", world,
    [.owner(0), .active(30), .inactive(0), .inactive(31), .role(1, .admin), .active(10)])
}

/// T6c: the same thief with closed claims from before the recovery removes Berta, who is the
/// witness of the recovery.
///
/// Derived: see `Promise.recoverySilences`.
func planT6Closed() -> Plan {
  var world = World.founded(liars: [0])
  world.write(0, .setWords(words: 1))
  world.welcome(10, as: 1, .admin, host: 0)
  world.write(0, .heartbeat)
  let before = world.acts.count - 1
  world.sync(10, 30)
  world.write(30, .recover(person: 0, words: 1, revokingOthers: true))
  world.sync(30, 10)
  world.write(10, .confirm(device: 30))
  world.sync(10, 30)
  world.write(0, .remove(person: 1), .asOf(before))
  return Plan(
    "T6c", "a thief removes the witness of a recovery, from before it", world,
    [.owner(0), .active(30), .inactive(0), .role(1, .admin), .active(10)])
}

/// T7: many strangers found, invite, join, confirm each other and remove everybody.
package func planT7(strangers: Int) -> Plan {
  let crowd = Set((0..<strangers).map { 1_000 + $0 })
  var world = World.founded(liars: crowd)
  world.welcome(10, as: 1, .admin, host: 0)
  world.welcome(50, as: 5, .member, host: 10)
  let used = world.link(by: 0, .member)
  let seen = world.issue(of: used)
  world.enter(60, as: 6, by: used, host: 0)
  world.write(0, .close(invite: used))
  for device in crowd.sorted() {
    let person = 2_000 + device
    switch device % 4 {
    case 0: world.write(device, .found)
    case 1: world.write(device, .join(invite: used, person: person), .asOf(seen))
    case 2: world.write(device, .join(invite: 900_000 + device, person: person), .asOf(seen))
    default:
      world.write(
        device,
        .invite(
          id: 800_000 + device, role: .admin, forPerson: nil, uses: 9, needsApproval: false),
        .asOf(seen))
    }
    world.write(device, .confirm(device: device - 1))
    world.write(device, .remove(person: 1))
    world.write(device, .close(invite: used))
  }
  return Plan(
    "T7", "a crowd of strangers", world,
    [
      .owner(0), .role(1, .admin), .role(5, .member), .role(6, .member),
      .sameWithout(devices: crowd, exceptPerson: nil),
    ])
}

/// T8: a reader issues many links, each for own devices or for strangers, and two devices
/// join at once by each.
package func planT8(invitations: Int) -> Plan {
  let crowd = Set((0..<2 * invitations).map { 1_000 + $0 })
  var world = World.founded(liars: crowd.union([70]))
  world.welcome(10, as: 1, .admin, host: 0)
  world.welcome(70, as: 7, .reader, host: 10)
  world.welcome(50, as: 5, .member, host: 10)
  for turn in 0..<invitations {
    let own = turn % 2 == 0
    let number = world.newInvite()
    world.write(
      70,
      .invite(
        id: number, role: own ? .reader : .admin, forPerson: own ? 7 : nil, uses: 1,
        needsApproval: false), .nothingNew)
    let seen = world.acts.count - 1
    for side in 0..<2 {
      let device = 1_000 + 2 * turn + side
      let person = own ? 7 : 2_000 + device
      world.write(device, .join(invite: number, person: person), .asOf(seen))
    }
  }
  return Plan(
    "T8", "a reader's flood of links", world,
    [
      .owner(0), .role(1, .admin), .role(5, .member),
      .sameWithout(devices: crowd, exceptPerson: 7),
    ])
}

/// T9: a removed member uses again the open link by which he came.
///
/// `sameDevice` and `samePerson` are plain. With a fresh device and a fresh name he looks to
/// every resolver exactly like another holder of the link (world 1: Ben again; world 2: Carl
/// for the first time), so T9c asks more than the others: the removal has to close, for
/// joinings that it had not seen and nobody confirmed, the link by which the person came.
func planT9(_ variant: Int, knowing: Bool) -> Plan {
  var world = World.founded(liars: [50, 51])
  let number = world.link(by: 0, .member, uses: 5)
  let seen = world.issue(of: number)
  world.enter(50, as: 5, by: number, host: 0)
  world.enter(60, as: 6, by: number, host: 0)
  world.write(0, .remove(person: 5))
  world.sync(0, 51)
  world.sync(0, 50)
  let device = variant == 0 ? 50 : 51
  let person = variant == 2 ? 9 : 5
  world.write(
    device, .join(invite: number, person: person), knowing ? .everything : .asOf(seen))
  let name = "T9" + ["a", "b", "c"][variant] + (knowing ? " knowing" : "")
  return Plan(
    name, "a removed member uses the open link again", world,
    [.gone(5), .gone(9), .inactive(50), .inactive(51), .role(6, .member), .active(60)])
}

/// T10: two people use one single-use link at once; nobody confirms, or the owner confirms
/// the one with the higher number.
func planT10(confirmed: Bool) -> Plan {
  var world = World.founded()
  let number = world.link(by: 0, .member)
  world.sync(0, 50)
  world.sync(0, 60)
  world.write(50, .join(invite: number, person: 5))
  world.write(60, .join(invite: number, person: 6))
  world.sync(60, 0)
  if confirmed { world.write(0, .confirm(device: 60)) }
  world.sync(50, 0)
  world.write(0, .heartbeat)
  return Plan(
    confirmed ? "T10b" : "T10a", "two people use one single-use link", world,
    [.exactlyOne([5, 6])] + (confirmed ? [.role(6, .member), .active(60), .inactive(50)] : []))
}

/// Principle 5: the owner and an admin set a member's role at once, and the owner's stands.
func planRoles(ownerGives role: Role) -> Plan {
  var world = World.founded(liars: [])
  world.welcome(10, as: 1, .admin, host: 0)
  world.welcome(50, as: 5, .member, host: 0)
  world.syncAll([0, 10, 50])
  world.write(10, .setRole(person: 5, role: .reader))
  world.write(0, .setRole(person: 5, role: role))
  return Plan(
    "R5 \(role)", "the owner's role stands beside an admin's", world,
    [.role(5, role), .role(1, .admin), .owner(0)])
}

/// All regression plans.
///
/// The floods are small here; call `planT7` and `planT8` for more.
package func regressionPlans() -> [Plan] {
  [Role.child, .admin].map { planRoles(ownerGives: $0) } + [
    planT1(claimingAll: false), planT1(claimingAll: true), planT1Unremoved(), planT2(),
    planT3(late: false), planT3(late: true),
    planT4(closed: false), planT4(closed: true), planT4(closed: false, removedHelper: true),
    planT5(confirmedFirst: true), planT5(confirmedFirst: false),
    planT5Made(isConfirmed: true, isEarlier: true), planT5Made(isConfirmed: true, isEarlier: false),
    planT5Made(isConfirmed: false, isEarlier: true),
    planT5Made(isConfirmed: false, isEarlier: false),
    planT6(fresh: true), planT6(fresh: false), planT6Closed(),
    planT7(strangers: 40), planT8(invitations: 30),
    planT9(0, knowing: false), planT9(1, knowing: false), planT9(2, knowing: false),
    planT9(0, knowing: true), planT9(1, knowing: true), planT9(2, knowing: true),
    planT10(confirmed: false), planT10(confirmed: true),
  ] + clockPlans()
}
