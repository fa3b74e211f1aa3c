/// The situations from which the exhaustive generator starts, each with a small alphabet.
package enum Start: String, Sendable, CaseIterable {
  /// Owner Anna d0, admin Berta d10, member Carl d20 (liar), an open single-use link, a finder.
  case household
  /// Anna handed over to Berta and is removed; her second device d5 lies; Cora d20 is admin.
  case handedOver
  /// Dora d30 was removed as an admin and lies; Eve d40 came by the link that Dora knew.
  case removedAdmin
  /// A two-use link, Ben d50 confirmed; a second holder d3, and a fresh one d60.
  case twoUses
  /// Carl's phone d21 is stolen; Carl has d20, Anna d0 and Berta d10 are honest.
  case stolenPhone
  /// Anna's phone d0 is stolen, she has the words; Berta d10 and Cora d20 are admins.
  case recovery
  /// Anna d0 and d5 (liar) have the words; Berta d10 and Cora d20 are admins; no offer yet.
  case handingOver
  /// Owner Anna d0, admin Berta d10, admin Cora d20 (liar), a link that expires at 5: an honest
  /// joiner, a finder who sets the clock back and one who does not.
  case expiring

  struct Move {
    let device: Int
    let deed: Deed
    /// For liars: an act whose past is worth claiming.
    let past: Int?
    /// The true time from which an honest device writes it, or what a liar claims.
    let time: Int?
    init(_ device: Int, _ deed: Deed, _ past: Int? = nil, at time: Int? = nil) {
      self.time = time
      self.device = device
      self.deed = deed
      self.past = past
    }
  }

  func build() -> (world: World, moves: [Move]) {
    switch self {
    case .household: Self.buildHousehold()
    case .handedOver: Self.buildHandedOver()
    case .removedAdmin: Self.buildRemovedAdmin()
    case .twoUses: Self.buildTwoUses()
    case .stolenPhone: Self.buildStolenPhone()
    case .recovery: Self.buildRecovery()
    case .handingOver: Self.buildHandingOver()
    case .expiring: Self.buildExpiring()
    }
  }

  private static func buildHousehold() -> (world: World, moves: [Move]) {
    var world = World.founded(liars: [20, 3])
    world.welcome(10, as: 1, .admin, host: 0)
    world.welcome(20, as: 2, .member, host: 0)
    let link = world.link(by: 0, .member)
    let seen = world.issue(of: link)
    world.deliver(seen, to: 10)
    world.deliver(seen, to: 50)
    world.deliver(seen, to: 3)
    return (
      world,
      [
        Move(50, .join(invite: link, person: 5)), Move(10, .confirm(device: 50)),
        Move(0, .close(invite: link)), Move(3, .join(invite: link, person: 6), seen),
        Move(0, .remove(person: 1)), Move(10, .confirm(device: 3)),
        Move(20, .close(invite: link), seen), Move(20, .revoke(device: 50), seen),
        Move(0, .setRole(person: 2, role: .admin)),
      ]
    )
  }

  private static func buildHandedOver() -> (world: World, moves: [Move]) {
    var world = World.founded(liars: [5, 3])
    world.welcome(5, as: 0, .owner, host: 0, forPerson: 0)
    world.write(0, .setWords(words: 1))
    let link = world.link(by: 0, .admin, uses: 2)
    let seen = world.issue(of: link)
    world.deliver(seen, to: 5)
    world.deliver(seen, to: 3)
    world.enter(10, as: 1, by: link, host: 0)
    world.enter(20, as: 2, by: link, host: 0)
    let offer = world.write(0, .offer(person: 1, words: 1))
    world.sync(0, 10)
    let accept = world.write(10, .accept(offer: offer))
    world.sync(10, 20)
    world.write(20, .confirmHandover(accept: accept))
    world.sync(20, 10)
    let before = world.acts[offer].id
    return (
      world,
      [
        Move(10, .remove(person: 0)), Move(5, .close(invite: link), seen),
        Move(5, .remove(person: 1), before), Move(5, .revoke(device: 20), before),
        Move(5, .setRole(person: 2, role: .member), before),
        Move(5, .offer(person: 2, words: 1), before), Move(5, .withdraw, before),
        Move(3, .join(invite: link, person: 6), seen), Move(20, .heartbeat),
      ]
    )
  }

  private static func buildRemovedAdmin() -> (world: World, moves: [Move]) {
    var world = World.founded(liars: [30, 3])
    world.welcome(30, as: 3, .admin, host: 0)
    world.welcome(10, as: 1, .admin, host: 0)
    let link = world.link(by: 0, .admin, uses: 2)
    let seen = world.issue(of: link)
    world.deliver(seen, to: 30)
    world.deliver(seen, to: 3)
    world.write(0, .remove(person: 3))
    world.sync(0, 40)
    world.write(40, .join(invite: link, person: 4))
    world.sync(40, 0)
    return (
      world,
      [
        Move(30, .close(invite: link), seen), Move(0, .confirm(device: 40)),
        Move(10, .confirm(device: 40)), Move(30, .confirm(device: 3), seen),
        Move(3, .join(invite: link, person: 6), seen), Move(30, .revoke(device: 40), seen),
        Move(0, .close(invite: link)), Move(30, .setRole(person: 4, role: .reader), seen),
        Move(10, .close(invite: link)),
      ]
    )
  }

  private static func buildTwoUses() -> (world: World, moves: [Move]) {
    var world = World.founded(liars: [3, 51])
    world.welcome(10, as: 1, .admin, host: 0)
    let link = world.link(by: 0, .member, uses: 2)
    let seen = world.issue(of: link)
    world.deliver(seen, to: 3)
    world.deliver(seen, to: 60)
    world.deliver(seen, to: 51)
    world.enter(50, as: 5, by: link, host: 0)
    return (
      world,
      [
        Move(3, .join(invite: link, person: 5), seen), Move(60, .join(invite: link, person: 6)),
        Move(10, .confirm(device: 60)), Move(0, .close(invite: link)),
        Move(51, .join(invite: link, person: 7), seen), Move(0, .remove(person: 5)),
        Move(0, .confirm(device: 60)), Move(3, .revoke(device: 50), seen),
      ]
    )
  }

  private static func buildStolenPhone() -> (world: World, moves: [Move]) {
    var world = World.founded(liars: [21, 22])
    world.welcome(10, as: 1, .admin, host: 0)
    world.welcome(20, as: 2, .member, host: 0)
    world.write(20, .setWords(words: 2))
    world.welcome(21, as: 2, .member, host: 20, forPerson: 2)
    let last = world.acts.count - 1
    let link = world.newInvite()
    world.syncAll([0, 10, 20, 21])
    return (
      world,
      [
        Move(20, .revoke(device: 21)), Move(10, .heartbeat), Move(0, .heartbeat),
        Move(21, .revoke(device: 20), last), Move(21, .leave, last),
        Move(
          21,
          .invite(id: link, role: .member, forPerson: 2, uses: 1, needsApproval: false), last),
        Move(22, .join(invite: link, person: 2)), Move(21, .setWords(words: 9), last),
        Move(30, .recover(person: 2, words: 2, revokingOthers: true)),
      ]
    )
  }

  private static func buildRecovery() -> (world: World, moves: [Move]) {
    var world = World.founded(liars: [0, 31])
    world.write(0, .setWords(words: 1))
    world.welcome(10, as: 1, .admin, host: 0)
    world.welcome(20, as: 2, .admin, host: 0)
    let last = world.acts.count - 1
    let link = world.newInvite()
    world.syncAll([10, 20])
    world.sync(10, 30)
    return (
      world,
      [
        Move(30, .recover(person: 0, words: 1, revokingOthers: true)),
        Move(10, .confirm(device: 30)), Move(20, .heartbeat),
        Move(0, .revoke(device: 30), last), Move(0, .remove(person: 1), last),
        Move(0, .setRole(person: 2, role: .reader), last),
        Move(
          0,
          .invite(id: link, role: .owner, forPerson: 0, uses: 1, needsApproval: false), last),
        Move(31, .join(invite: link, person: 0)), Move(0, .setWords(words: 9), last),
      ]
    )
  }

  private static func buildHandingOver() -> (world: World, moves: [Move]) {
    var world = World.founded(liars: [5])
    world.write(0, .setWords(words: 1))
    world.welcome(10, as: 1, .admin, host: 0)
    world.welcome(20, as: 2, .admin, host: 0)
    world.welcome(5, as: 0, .owner, host: 0, forPerson: 0)
    let last = world.acts.count - 1
    world.syncAll([0, 5, 10, 20])
    let offer = world.write(0, .offer(person: 1, words: 1))
    world.deliver(offer, to: 10)
    // The acceptance gets the number that the next act has if it comes first.
    return (
      world,
      [
        Move(10, .accept(offer: offer)), Move(0, .confirmHandover(accept: offer + 1)),
        Move(20, .confirmHandover(accept: offer + 1)), Move(5, .remove(person: 1), last),
        Move(5, .withdraw, last), Move(5, .revoke(device: 0), last),
        Move(5, .setRole(person: 1, role: .member), last), Move(0, .withdraw),
        Move(10, .remove(person: 0)),
      ]
    )
  }

  /// All three may use the link, so that nothing but its expiry speaks against them.
  private static func buildExpiring() -> (world: World, moves: [Move]) {
    var world = World.founded(liars: [20, 3, 51])
    world.welcome(10, as: 1, .admin, host: 0)
    world.welcome(20, as: 2, .admin, host: 0)
    let link = world.link(by: 0, .member, uses: 3, expires: 5)
    let seen = world.issue(of: link)
    for device in [10, 20, 50, 3, 51] { world.deliver(seen, to: device) }
    return (
      world,
      [
        Move(50, .join(invite: link, person: 5), at: 4),
        Move(3, .join(invite: link, person: 6), seen, at: 1),
        Move(51, .join(invite: link, person: 7), seen, at: 9),
        Move(0, .close(invite: link), at: 8), Move(10, .close(invite: link), at: 8),
        Move(10, .confirm(device: 50)), Move(10, .confirm(device: 3)),
        Move(20, .confirm(device: 51), seen, at: 1),
        Move(20, .close(invite: link), seen, at: 9),
      ]
    )
  }
}
