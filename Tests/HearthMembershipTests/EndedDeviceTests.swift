import MembershipPromises
import Testing

@testable import HearthMembership
@testable import PromiseTranslation

/// What a device writes as if before its own person ended it.
@Suite("Membership: a device that its own person ended decides nothing")
struct EndedDeviceTests {
  /// What somebody of higher rank had seen of the end and of the device's operation.
  enum Witness: CaseIterable {
    case nobody, ofEnd, ofBoth, ofOperation
  }

  /// How the hand-over was confirmed.
  enum Confirmation: CaseIterable {
    case none, silence, formerOwner, thirdPerson
  }

  /// An owner d0 with a second device d5, an admin d10, a member p20 with d20 and d21; both of the
  /// member's devices have seen everything, and there are words of the owner's and the member's.
  private func household() -> World {
    var world = World.founded(liars: [20])
    world.write(0, .setWords(words: 1))
    world.welcome(5, as: 0, .owner, host: 0, forPerson: 0)
    world.welcome(10, as: 10, .admin, host: 0)
    world.welcome(20, as: 20, .member, host: 0)
    world.write(20, .setWords(words: 2))
    world.welcome(21, as: 20, .member, host: 20, forPerson: 20)
    world.syncAll([0, 5, 10, 20, 21])
    return world
  }

  /// Lets the admin's device see the end, the operation, or both, and say so.
  private func testify(_ witness: Witness, _ end: Int, _ operation: Int, in world: inout World) {
    if witness == .nobody { return }
    if witness != .ofOperation { world.deliver(end, to: 10) }
    if witness != .ofEnd { world.deliver(operation, to: 10) }
    world.write(10, .heartbeat)
  }

  @Test(
    "New words by a revoked device, signed by the old words", arguments: Witness.allCases)
  func words(witness: Witness) {
    var world = household()
    let revocation = world.write(21, .revoke(device: 20))
    let rotation = world.write(20, .setWords(words: 3, consent: 2))
    testify(witness, revocation, rotation, in: &world)
    world.deliver(rotation, to: 22)
    world.write(22, .recover(person: 20, words: 3, revokingOthers: false))
    let devices = PromiseAdapter.resolve(world.history.acts).devices
    #expect(devices.contains(22) == (witness != .ofEnd))
    #expect(devices.contains(21))
    #expect(!devices.contains(20))
  }

  /// How the heir's device ends that accepts the group.
  enum End: CaseIterable {
    case revocation, recovery
  }

  @Test(
    "The group accepted by an ended device of the heir", arguments: Witness.allCases,
    Confirmation.allCases)
  func acceptance(witness: Witness, confirmation: Confirmation) {
    for end in End.allCases {
      var world = household()
      let offer = world.write(5, .offer(person: 20, words: 1))
      world.deliver(offer, to: 20)
      world.sync(21, 22)
      let ended =
        switch end {
        case .revocation: world.write(21, .revoke(device: 20))
        case .recovery: world.write(22, .recover(person: 20, words: 2, revokingOthers: true))
        }
      let acceptance = world.write(20, .accept(offer: offer))
      testify(witness, ended, acceptance, in: &world)
      let (author, deed): (Int, Deed) =
        switch confirmation {
        case .none: (0, .heartbeat)
        case .silence: (5, .heartbeat)
        case .formerOwner: (5, .confirmHandover(accept: acceptance))
        case .thirdPerson: (10, .confirmHandover(accept: acceptance))
        }
      if confirmation != .none { world.deliver(acceptance, to: author) }
      world.write(author, deed)
      let outcome = PromiseAdapter.resolve(world.history.acts)
      let isVoid = witness == .ofEnd && [.none, .silence].contains(confirmation)
      #expect(outcome.owner == (isVoid ? 0 : 20), "\(end)")
      #expect(outcome.devices.contains(end == .revocation ? 21 : 22), "\(end)")
      #expect(!outcome.devices.contains(20), "\(end)")
    }
  }

  /// Each device of the member revokes the other; the owner had seen only the first revocation.
  ///
  /// The first device then takes the group over and removes the former owner, the only witness.
  @Test("Two devices revoke each other, and the only witness is removed by one of them")
  func removedWitness() {
    var world = household()
    let offer = world.write(0, .offer(person: 20, words: 1))
    world.deliver(offer, to: 20)
    let revocation = world.write(20, .revoke(device: 21))
    world.write(21, .revoke(device: 20))
    world.write(20, .accept(offer: offer))
    world.write(20, .remove(person: 0))
    world.deliver(revocation, to: 0)
    world.write(0, .heartbeat)
    let outcome = PromiseAdapter.resolve(world.history.acts)
    #expect(outcome.owner == 20)
    #expect(outcome.devices == [10, 20])
    let findings = PromiseAdapter.fold(world.history.acts).resolved.findings
    for place in findings.log.items.indices {
      #expect(
        findings.isLive[place] == (findings.reason(place) == nil),
        "\(findings.log.operation(place))")
    }
  }

  /// How the former owner ended the offer.
  enum Withdrawal: CaseIterable {
    case withdrawal, removal
  }

  @Test(
    "An offer that ended in time, and the owner goes on", arguments: Withdrawal.allCases,
    Confirmation.allCases)
  func withdrawal(of way: Withdrawal, confirmation: Confirmation) {
    var world = household()
    let offer = world.write(0, .offer(person: 20, words: 1))
    world.deliver(offer, to: 20)
    let end = world.write(0, way == .withdrawal ? .withdraw : .remove(person: 20))
    world.deliver(end, to: 10)
    world.write(10, .heartbeat)
    let acceptance = world.write(20, .accept(offer: offer))
    // Device 5 learns of the acceptance alone, all others of everything.
    world.deliver(acceptance, to: 5)
    world.syncAll([0, 10, 20])
    switch confirmation {
    case .none: break
    case .silence: world.write(0, .heartbeat)
    case .formerOwner: world.write(5, .confirmHandover(accept: acceptance))
    case .thirdPerson: world.write(10, .confirmHandover(accept: acceptance))
    }
    let isConfirmed = [.formerOwner, .thirdPerson].contains(confirmation)
    #expect(PromiseAdapter.resolve(world.history.acts).owner == (isConfirmed ? 20 : 0))
  }
}
