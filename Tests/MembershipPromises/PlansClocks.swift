/// The regression plans in which links expire at 5 and clocks matter.

/// T3 with clocks: Berta's folder lags, so her device closes the expired link before it reads that
/// Ben had joined in time.
///
/// Ben stays if Cora had confirmed him. If nobody had, he is in only if a person approves.
func planT3Lag(confirmed: Bool, approved: Bool) -> Plan {
  var world = World.founded()
  world.welcome(10, as: 1, .admin, host: 0)
  world.welcome(20, as: 2, .admin, host: 0)
  let number = world.link(by: 0, .member, expires: 5)
  for device in [10, 20, 50] { world.sync(0, device) }
  world.wait(until: 4)
  world.write(50, .join(invite: number, person: 5))
  if confirmed {
    world.sync(50, 20)
    world.write(20, .confirm(device: 50))
  }
  world.wait(until: 9)
  world.write(10, .close(invite: number))
  world.sync(50, 10)
  world.sync(20, 10)
  if approved { world.write(10, .confirm(device: 50)) }
  world.syncAll([0, 10, 20, 50])
  world.write(0, .heartbeat)
  let isIn = confirmed || approved
  return Plan(
    "T3 lag\(confirmed ? " confirmed" : "")\(approved ? " approved" : "")",
    "a closing at the expiry from a folder that lags", world,
    [.owner(0), .role(1, .admin)]
      + (isIn ? [.role(5, .member), .active(50)] : [.gone(5), .inactive(50)]))
}

/// T4 with clocks: on day 400 somebody finds the link, sets the clock back or does not, and claims
/// the past of day 0; Anna's device closes the link by its own clock before it reads on.
func planT4Clock(used: Bool, claiming time: Int) -> Plan {
  var world = World.founded(liars: [3])
  world.welcome(10, as: 1, .admin, host: 0)
  let number = world.link(by: 0, .member, expires: 5)
  let seen = world.issue(of: number)
  if used { world.enter(50, as: 5, by: number, host: 0) }
  world.deliver(seen, to: 3)
  world.wait(until: 400)
  world.write(3, .join(invite: number, person: 6), .asOf(seen), at: time)
  world.wait(until: 401)
  world.write(0, .close(invite: number))
  world.sync(3, 0)
  world.meet(0, 10)
  world.write(10, .heartbeat)
  return Plan(
    "T4 clock at \(time)\(used ? " used" : "")", "a finder of the expired link", world,
    [.owner(0), .gone(6), .inactive(3)] + (used ? [.role(5, .member), .active(50)] : []))
}

/// T4 with clocks, where nobody closed the link: the finder does not set the clock back.
func planT4Late(approved: Bool) -> Plan {
  var world = World.founded(liars: [3])
  let number = world.link(by: 0, .member, expires: 5)
  world.deliver(world.issue(of: number), to: 3)
  world.wait(until: 400)
  world.write(3, .join(invite: number, person: 6), at: 400)
  world.sync(3, 0)
  world.write(0, approved ? .confirm(device: 3) : .heartbeat)
  return Plan(
    approved ? "T4 late approved" : "T4 late", "a joining that says that it is late", world,
    [.owner(0)] + (approved ? [.role(6, .member), .active(3)] : [.gone(6), .inactive(3)]))
}

func clockPlans() -> [Plan] {
  [
    planT3Lag(confirmed: true, approved: false), planT3Lag(confirmed: false, approved: false),
    planT3Lag(confirmed: false, approved: true),
    planT4Clock(used: true, claiming: 1), planT4Clock(used: false, claiming: 1),
    planT4Clock(used: false, claiming: 400), planT4Late(approved: false),
    planT4Late(approved: true),
  ]
}
