import Foundation
import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// What people and devices cost: one more device, and reading a long control log.
struct MembershipBudgets {
  let devices: Int
  let operations: Int
  let root: String
  let table: BudgetTable

  func run() throws {
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: root) }
    print("\(devices) devices, \(operations) control operations")
    table.begin()
    try rows()
    try table.end()
  }

  /// The rows alone, for a table with others.
  func rows() throws {
    let family = try Replica.family(devices - 1, in: "\(root)/devices")
    try oneMore(than: family)
    try newKey(family[0])
    try SignedLogBudgets(family: family, operations: 10_000, table: table).run()
    try folding()
    ResolverBudgets(operations: 10_000, table: table).run()
  }

  private func oneMore(than family: [Replica]) throws {
    let founder = family[0]
    let control = try founder.engine.controlZone(of: founder.engine.zones[0].group)
    let invitation = try InvitationMaking.invite(
      to: control.group, named: "Home", role: .member, maximumUses: 1,
      expiresMilliseconds: founder.tick() + 3_600_000, in: &founder.engine,
      nowMilliseconds: founder.tick())
    let newcomer = try Replica("\(root)/newcomer", identity: try Replica.identity(devices))
    var looking = Stopwatch()
    let capsule = try looking.measure {
      let capsule = try JoiningByInvitation.begin(
        invitation.capsule, with: invitation.secret, in: &newcomer.engine,
        nowMilliseconds: newcomer.tick())
      _ = try newcomer.pull(from: founder, zone: control.id)
      return capsule
    }
    var joining = Stopwatch()
    try joining.measure {
      try JoiningByInvitation.finish(
        capsule, with: invitation.secret,
        person: try Identifier.random(), personName: "P", deviceName: "d",
        in: &newcomer.engine, nowMilliseconds: newcomer.tick())
    }
    let segments = try newcomer.news(for: founder, zone: control.id)
    let bytes = segments.reduce(0) { $0 + $1.count }
    var admitting = Stopwatch()
    try admitting.measure { try founder.receive(segments, zone: control.id) }
    let span = joining.wall + admitting.wall
    table.row(
      "device \(devices) joins and is let in", number(span * 1e3, 1) + " ms", budget: "100 ms",
      isMet: span < 0.1)
    table.row("its joining", "\(bytes) B", budget: "25000 B", isMet: bytes < 25_000)
    table.row(
      "it reads the control log first, for the record", number(looking.wall * 1e3, 0) + " ms",
      budget: "none", isMet: true)
  }

  private func newKey(_ founder: Replica) throws {
    let control = try founder.engine.controlZone(of: founder.engine.zones[0].group)
    var clock = Stopwatch()
    try clock.measure {
      try Rekeying.rekey(
        [founder.zone], of: control.group, in: &founder.engine, nowMilliseconds: founder.tick())
      _ = try Sealing.seal(control.id, in: &founder.engine)
    }
    let own = Author(device: founder.engine.device, incarnation: founder.engine.incarnation)
    let last = try founder.store.log.segments(of: control.id).filter { $0.author == own }
      .max { $0.last < $1.last }
    table.row(
      "a new key for \(devices) devices", number(clock.wall * 1e3, 1) + " ms", budget: "100 ms",
      isMet: clock.wall < 0.1)
    let bytes = last?.byteCount ?? 0
    table.row("it as a segment", "\(bytes) B", budget: "25000 B", isMet: bytes < 25_000)
  }

  /// A household of ten with a long history of roles.
  private func folding() throws {
    let family = try Replica.family(10, in: "\(root)/people")
    let founder = family[0]
    let control = try founder.engine.controlZone(of: founder.engine.zones[0].group)
    let people = founder.engine.membership(of: control.group).people.filter { $0.role != .owner }
    var events = try founder.store.records.events(of: ControlOperation.type, in: control.id)
    var turn = 0
    while events.count < operations {
      for _ in 0..<min(50, operations - events.count) {
        try MemberChanges.setRole(
          of: people[turn % people.count].id, to: turn / people.count % 2 == 0 ? .admin : .member,
          in: control.group, by: &founder.engine, nowMilliseconds: founder.tick())
        turn += 1
      }
      events = try founder.store.records.events(of: ControlOperation.type, in: control.id)
    }
    var first = Stopwatch()
    let membership = first.measure { Membership(group: control.group, events: events) }
    var again = Stopwatch()
    for _ in 0..<5 {
      again.measure { _ = Membership(group: control.group, events: events, known: membership) }
    }
    table.row(
      "resolve \(events.count) control operations", number(again.wall / 5 * 1e3, 1) + " ms",
      budget: "50 ms", isMet: again.wall / 5 < 0.05)
    table.row(
      "the same, with every proof checked anew", number(first.wall * 1e3, 1) + " ms",
      budget: "50 ms", isMet: first.wall < 0.05)
  }
}
