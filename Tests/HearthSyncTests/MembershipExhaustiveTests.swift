import Foundation
import HearthCRDT
import TestSupport
import Testing

@testable import HearthSync

/// Every history of so many free operations in a household of three people, compared with the slow
/// oracle.
///
/// `HEARTH_MEMBERSHIP_OPERATIONS=3` (to 6) asks for longer ones, of the operations that take from
/// others or give to them; in a release build. docs/internals/models.md has the numbers.
@Suite("Membership: every short history")
struct MembershipExhaustiveTests {
  private static var operations: Int {
    ProcessInfo.processInfo.environment["HEARTH_MEMBERSHIP_OPERATIONS"].flatMap(Int.init) ?? 0
  }

  @Test("Every kind of operation by everybody, alone: what the oracle says, and nothing when void")
  func one() {
    var space = MembershipSpace(.all)
    space.explore(upTo: 1)
    #expect(space.histories == [MembershipSpace.ones])
    #expect(space.live == [MembershipSpace.liveOnes])
    // Each kind has effect by somebody, or the alphabet would test less than it says.
    #expect(space.liveKinds == MembershipSpace.kinds)
  }

  @Test("Every two operations that have effect, at the same time or one after the other")
  func two() {
    var space = MembershipSpace(.strong)
    space.explore(upTo: 2)
    print("membership: \(space.histories) histories, \(space.live) with effect")
    #expect(space.histories == MembershipSpace.twos)
    #expect(space.live == MembershipSpace.liveTwos)
  }

  @Test("Every longer history", .enabled(if: operations > 2))
  func longer() {
    let start = ContinuousClock.now
    var space = MembershipSpace(MembershipExhaustiveTests.operations > 3 ? .core : .strong)
    space.explore(upTo: min(6, MembershipExhaustiveTests.operations))
    print(
      "membership: \(space.histories) histories, \(space.live) with effect, "
        + "\(ContinuousClock.now - start)")
    #expect(space.histories.count == min(6, MembershipExhaustiveTests.operations))
  }
}

/// The histories of a household of an owner, an admin with two devices and a member, to whom
/// somebody else may come.
///
/// Two histories that differ only in the order in which operations of the same time are written
/// down are one: an operation that follows another one without having seen it is by a hand of a
/// greater number. An operation that has no effect in its own eyes, and rests on nothing that can
/// be struck, never has any: it is looked at once and not gone on from.
struct MembershipSpace {
  enum Alphabet {
    /// Every kind, aimed at everybody.
    case all
    /// What takes from others, gives to them, or makes them able to.
    case strong
    /// The few that strike each other in every way.
    case core
  }

  /// An operation, by whom, and of which kind.
  private struct Letter {
    let hand: Int
    let kind: UInt8
    let write: (inout MembershipWorld) -> RecordID
  }

  static let ones = 135
  static let liveOnes = 84
  static let twos = [95, 7_165]
  static let liveTwos = [53, 3_135]
  static let kinds: Set<UInt8> = [
    2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
  ]

  private let start: MembershipWorld
  private var letters: [Letter] = []
  /// How many histories of each length there are.
  private(set) var histories: [Int] = []
  /// How many of them end in an operation that has effect.
  private(set) var live: [Int] = []
  private(set) var liveKinds: Set<UInt8> = []

  init(_ alphabet: Alphabet) {
    var world = MembershipWorld()
    let admin = world.member(.admin, by: .auto)
    let member = world.member(.member, by: .approved)
    let second = world.second(of: admin)
    world.nameWords(0)
    world.nameWords(admin)
    let offer = world.transfer(0, to: world.hands[admin].person)
    let auto = world.invite(admin, .member)
    let approve = world.invite(admin, .child, .approve)
    let guest = world.addHand(person: 9)
    let bare = world.addHand(person: Int(world.hands[admin].person.low))
    world.settle()
    start = world
    let inside = [0, admin, member, second]
    for hand in inside {
      letters += MembershipSpace.taking(hand, inside, world, alphabet)
      letters += MembershipSpace.giving(hand, [admin, member], world, alphabet)
      letters.append(Letter(hand: hand, kind: 12) { $0.write(hand, .acceptOwner(transfer: offer)) })
      letters.append(
        Letter(hand: hand, kind: 4) { $0.write(hand, .inviteClose(invite: auto)) })
      letters.append(
        Letter(hand: hand, kind: 7) {
          $0.write(
            hand,
            .admit(
              .init(
                join: $0.request(guest, approve), possession: [UInt8](repeating: 1, count: 64))))
        })
      if alphabet == .all { letters += MembershipSpace.other(hand, world) }
    }
    letters.append(Letter(hand: guest, kind: 5) { $0.join(guest, auto) })
    for revokes in [true, false] where revokes || alphabet != .core {
      letters.append(Letter(hand: bare, kind: 16) { $0.recover(bare, revokesOthers: revokes) })
    }
  }

  /// What takes something from somebody.
  private static func taking(
    _ hand: Int, _ inside: [Int], _ world: MembershipWorld, _ alphabet: Alphabet
  ) -> [Letter] {
    var letters = [
      Letter(hand: hand, kind: 13) { $0.write(hand, .leave(Cut(entries: []))) }
    ]
    for other in inside.dropLast() {
      let person = world.hands[other].person
      letters.append(Letter(hand: hand, kind: 8) { $0.remove(hand, person) })
      letters.append(Letter(hand: hand, kind: 10) { $0.setRole(hand, person, .reader) })
      guard alphabet != .core else { continue }
      letters.append(Letter(hand: hand, kind: 10) { $0.setRole(hand, person, .child) })
    }
    for other in inside where alphabet != .core || other == inside[3] || hand == inside[3] {
      letters.append(Letter(hand: hand, kind: 9) { $0.revoke(hand, other) })
    }
    return letters
  }

  /// What gives something to somebody, or to oneself.
  private static func giving(
    _ hand: Int, _ people: [Int], _ world: MembershipWorld, _ alphabet: Alphabet
  ) -> [Letter] {
    var letters: [Letter] = []
    for other in people {
      let person = world.hands[other].person
      letters.append(Letter(hand: hand, kind: 11) { $0.transfer(hand, to: person) })
      guard alphabet != .core else { continue }
      letters.append(Letter(hand: hand, kind: 10) { $0.setRole(hand, person, .admin) })
    }
    guard alphabet != .core else { return letters }
    letters.append(
      Letter(hand: hand, kind: 3) {
        _ = $0.invite(hand, .child)
        return $0.items.last?.id ?? .zero
      })
    letters.append(Letter(hand: hand, kind: 15) { $0.rotate(hand) })
    return letters
  }

  /// What changes neither people nor devices, and what needs a second device.
  private static func other(_ hand: Int, _ world: MembershipWorld) -> [Letter] {
    let zone = Identifier(high: 3, low: 3)
    let author = world.hands[2].author
    let own = world.hands[hand].person
    let operations: [ControlOperation] = [
      .epoch(.init(zone: zone, epoch: [UInt8](repeating: 1, count: 32), previous: [], wraps: [])),
      .wrapAdd(.init(zone: zone, epoch: [UInt8](repeating: 1, count: 32), wraps: [])),
      .complaint(.init(zone: zone, epoch: [UInt8](repeating: 1, count: 32), isLast: false)),
      .adopt(.init(zone: zone, author: author, first: 1, last: 1)),
      .setPolicy(.init(minimumSuite: 1, newcomers: .full)),
      .forkProof(.init(zone: zone, author: author, first: [], second: [])),
      .setRecovery(.init(keys: MembershipWorld.words)), .heartbeat([]),
    ]
    return operations.map { operation in
      Letter(hand: hand, kind: operation.kind) { $0.write(hand, operation) }
    } + [
      Letter(hand: hand, kind: 3) {
        _ = $0.invite(hand, .reader, person: own)
        return $0.items.last?.id ?? .zero
      },
      Letter(hand: hand, kind: 15) { $0.rotate(hand, byWords: false, second: 2) },
    ]
  }

  // MARK: Exploring

  mutating func explore(upTo length: Int) {
    histories = [Int](repeating: 0, count: length)
    live = histories
    extend(start, [], "", length)
  }

  /// A free operation: by which hand, and what it had seen of the free ones.
  private struct Step {
    let hand: Int
    let dot: Dot
  }

  private mutating func extend(
    _ world: MembershipWorld, _ steps: [Step], _ name: String, _ length: Int
  ) {
    for (number, letter) in letters.enumerated() {
      for (heard, told) in views(of: letter.hand, in: world, steps) {
        if let last = steps.last, last.hand != letter.hand, letter.hand < last.hand,
          !told.hands[letter.hand].seen.covers(last.dot)
        {
          continue
        }
        var next = told
        let id = letter.write(&next)
        let isInert = check(
          next, id, letter.kind, restsOnFree: seesFree(letter.hand, told, steps),
          at: steps.count, "\(name) \(number)/\(heard)", before: world)
        guard steps.count + 1 < length, !isInert, let item = next.items.last else { continue }
        extend(
          next, steps + [Step(hand: letter.hand, dot: item.version.dot)],
          "\(name) \(number)/\(heard)", length)
      }
    }
  }

  private func seesFree(_ hand: Int, _ world: MembershipWorld, _ steps: [Step]) -> Bool {
    steps.contains { world.hands[hand].seen.covers($0.dot) }
  }

  /// What a hand can have heard of the free operations, each possibility once.
  private func views(
    of hand: Int, in world: MembershipWorld, _ steps: [Step]
  ) -> [(heard: Int, world: MembershipWorld)] {
    let others = Set(steps.map(\.hand)).subtracting([hand]).sorted()
    var seen: Set<[Frontier.Entry]> = []
    var views: [(Int, MembershipWorld)] = []
    for heard in 0..<(1 << others.count) {
      var told = world
      for (bit, other) in others.enumerated() where heard & (1 << bit) != 0 {
        told.tell(hand, other)
      }
      guard seen.insert(told.hands[hand].seen.entries).inserted else { continue }
      views.append((heard, told))
    }
    return views
  }

  /// Compares a history with the oracle.
  ///
  /// - Returns: whether its last operation has no effect, and never will have any.
  private mutating func check(
    _ world: MembershipWorld, _ id: RecordID, _ kind: UInt8, restsOnFree: Bool, at length: Int,
    _ name: String, before: MembershipWorld
  ) -> Bool {
    histories[length] += 1
    let membership = world.fold()
    let isVoid = membership.voided.contains { $0.id == id }
    if isVoid, !restsOnFree {
      // Nothing is changed by it: the rest of the history was looked at before.
      #expect(
        membership.people.map(\.role) == before.fold().people.map(\.role),
        "history\(name): a void operation changes people")
      if length > 0 { return true }
    }
    if !isVoid {
      live[length] += 1
      liveKinds.insert(kind)
    }
    var random = SplitMix64(seed: UInt64(histories[length]))
    #expect(
      world.fold(shuffled: &random).summary == membership.summary,
      "history\(name): the order of arrival matters")
    #expect(
      MembershipOracle(world.items, group: world.group).summary == membership.summary,
      "history\(name): not what the oracle says")
    #expect(
      membership.people.count { $0.role == .owner } == 1 && membership.owner != nil,
      "history\(name): not one owner")
    return isVoid && !restsOnFree
  }
}
