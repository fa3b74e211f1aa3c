import MembershipPromises
import PromiseTranslation
import Testing

@testable import HearthMembership

/// How far disputes about joinings reach, and who is a witness of one (decisions 0059 and 0066).
@Suite("Membership: disputes are bounded")
struct DisputeBoundTests {
  /// A person's devices, each of which came by a link that the one before closed unseen.
  private func chain(of count: Int) -> World {
    var world = World.founded()
    world.welcome(12, as: 12, .member, host: 0)
    let links = (0..<count).map { _ in world.link(by: 12, .reader, forPerson: 12) }
    let before = world.acts.count - 1
    for (number, link) in links.enumerated() {
      world.deliver(before, to: 20 + number)
      world.write(20 + number, .join(invite: link, person: 12))
      if number + 1 < count { world.write(20 + number, .close(invite: links[number + 1])) }
    }
    world.write(12, .close(invite: links[0]))
    return world
  }

  @Test("A chain of closings is settled as far as the limit, and whoever comes after it waits")
  func chains() {
    #expect(ControlResolver.maximumChanges == 2)
    let short = chain(of: 2).history.acts
    #expect(PromiseAdapter.resolve(short).devices == [0, 12, 21])
    #expect(!PromiseAdapter.decisions(short).contains("undecided"))
    #expect(PromiseAdapter.decisions(chain(of: 3).history.acts).contains("undecided"))
    var long = chain(of: 4)
    #expect(PromiseAdapter.resolve(long.history.acts).devices == [0, 12, 21])
    #expect(PromiseAdapter.decisions(long.history.acts).contains("undecided"))
    // Somebody of higher rank lets in whoever waits.
    long.sync(23, 0)
    long.write(0, .confirm(device: 23))
    #expect(PromiseAdapter.resolve(long.history.acts).devices == [0, 12, 21, 23])
  }

  /// Whether an admin's further device is in by a link that somebody closed without having seen the
  /// joining, which nobody confirmed.
  private func isIn(closedBy closer: Int) -> Bool {
    var world = World.founded()
    for admin in [12, 13] { world.welcome(admin, as: admin, .admin, host: 0) }
    world.sync(0, 12)
    let link = world.link(by: 12, .reader, forPerson: 12)
    let issue = world.issue(of: link)
    world.deliver(issue, to: closer)
    world.write(closer, .close(invite: link))
    world.deliver(issue, to: 20)
    world.write(20, .join(invite: link, person: 12))
    return PromiseAdapter.resolve(world.history.acts).devices.contains(20)
  }

  @Test("Only the maker of a link, or somebody above who joins by it, closes it before a joining")
  func closers() {
    #expect(isIn(closedBy: 13))
    #expect(!isIn(closedBy: 12))
    #expect(!isIn(closedBy: 0))
  }

  /// A person's devices that each came by a link which was closed, and that the one before
  /// confirmed; the first one is confirmed, or did not know of the closing.
  private func confirmed(_ count: Int, isFalling: Bool) -> World {
    var world = World.founded()
    world.welcome(12, as: 12, .member, host: 0)
    for number in 0..<count {
      let link = world.link(by: 12, .reader, forPerson: 12)
      let issue = world.issue(of: link)
      let closing = world.write(12, .close(invite: link), .asOf(issue))
      let device = 20 + number
      world.deliver(isFalling ? issue : closing, to: device)
      world.write(device, .join(invite: link, person: 12))
      world.sync(12, device)
      world.sync(device, 12)
      guard number > 0 || !isFalling else { continue }
      let host = number == 0 ? 12 : device - 1
      world.sync(12, host)
      world.write(host, .confirm(device: device))
      world.sync(host, 12)
    }
    return world
  }

  @Test("Own devices confirm each other in a chain as far as the limit, and whoever is later waits")
  func confirmations() {
    let limit = ControlResolver.maximumOpenTurns
    #expect(limit == 3)
    for count in [limit, limit + 1, limit + 3] {
      let rising = confirmed(count, isFalling: false).history.acts
      #expect(PromiseAdapter.resolve(rising).devices == [0, 12, 20, 21, 22])
      let falling = confirmed(count, isFalling: true).history.acts
      #expect(PromiseAdapter.resolve(falling).devices == [0, 12])
      #expect(PromiseAdapter.decisions(falling).contains("undecided") == (count > limit))
    }
    // Somebody of higher rank lets in whoever waits.
    var world = confirmed(limit + 1, isFalling: false)
    world.sync(12, 0)
    world.write(0, .confirm(device: 20 + limit))
    #expect(PromiseAdapter.resolve(world.history.acts).devices == [0, 12, 20, 21, 22, 23])
  }

  @Test("Two devices that each came by a link which the other closed both wait")
  func circle() {
    var world = World.founded()
    world.welcome(12, as: 12, .member, host: 0)
    let links = (0..<2).map { _ in world.link(by: 12, .reader, forPerson: 12) }
    let before = world.acts.count - 1
    for (device, link) in [(20, 0), (21, 1)] {
      world.deliver(before, to: device)
      world.write(device, .join(invite: links[link], person: 12))
      world.write(device, .close(invite: links[1 - link]))
    }
    #expect(PromiseAdapter.resolve(world.history.acts).devices == [0, 12])
    world.sync(20, 0)
    world.write(0, .confirm(device: 20))
    #expect(PromiseAdapter.resolve(world.history.acts).devices == [0, 12, 20])
  }

  /// A hand-over by the words, and a recovery by them that states not to have seen the offer.
  private func recovered(beside witness: Int) -> Int {
    var world = World.founded()
    world.write(0, .setWords(words: 1))
    world.welcome(12, as: 12, .admin, host: 0)
    world.welcome(13, as: 13, .admin, host: 0)
    let before = world.acts.count - 1
    world.sync(0, 12)
    let offer = world.write(0, .offer(person: 12, words: 1))
    world.sync(0, 12)
    world.write(12, .accept(offer: offer))
    world.deliver(before, to: 30)
    let recovery = world.write(30, .recover(person: 0, words: 1, revokingOthers: true))
    if witness == 14 {
      world.welcome(14, as: 14, .admin, host: 30)
    } else {
      world.deliver(recovery, to: witness)
    }
    world.write(witness, .heartbeat)
    return PromiseAdapter.resolve(world.history.acts).owner
  }

  @Test("Whom a recovery lets in is no witness that it came before a hand-over")
  func recoveryMakesNoWitness() {
    #expect(recovered(beside: 13) == 0)
    #expect(recovered(beside: 14) == 12)
  }
}
