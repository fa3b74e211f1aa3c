import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership

/// What changes of one log count for, from the first to the last.
@Suite("Membership: judgement of a log")
struct JudgementLawTests {
  private static let zone = ZoneID(high: 0x2020, low: 1)

  /// What a change is worth, as a number: nothing, or its author's role.
  private static func worth(_ judgement: Judgement) -> Int {
    switch judgement {
    case .void: 0
    case .counts(let role): 1 + Int(role.rawValue)
    }
  }

  /// A cut of a log at some change, or one that does not name the log.
  private static func cut(of author: Author, _ random: inout SplitMix64) -> Cut {
    let sequence = UInt64.random(in: 0...12, using: &random)
    guard sequence > 0 else { return Cut(entries: []) }
    return Cut(entries: [
      Cut.Entry(
        zone: zone, author: author, sequence: sequence, hash: [UInt8](repeating: 1, count: 32))
    ])
  }

  /// A group in which several people of rank end or demote one member, some at the same time.
  private static func group(_ random: inout SplitMix64) -> (Membership, Author, [Frontier]) {
    var world = MembershipWorld()
    func somebody() -> Int { world.member(random.oneIn(2) ? .admin : .member, by: .auto) }
    let hands = [0] + (0..<3).map { _ in somebody() }
    let subject = somebody()
    let (author, person) = (world.hands[subject].author, world.hands[subject].person)
    var seen = [world.hands[subject].seen]
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      let hand = hands.randomElement(using: &random) ?? 0
      let cut = cut(of: author, &random)
      switch UInt8.random(in: 0..<5, using: &random) {
      case 0: world.write(hand, .removeMember(person: person, cut: cut))
      case 1: world.write(hand, .revokeDevice(device: world.hands[subject].id, cut: cut))
      case 2: world.write(subject, .leave(cut))
      default:
        let role: Role = [.member, .child, .reader].randomElement(using: &random) ?? .child
        world.write(hand, .setRole(person: person, role: role, cut: cut))
      }
      if Bool.random(using: &random) { world.settle() }
      seen.append(world.hands[subject].seen)
    }
    world.settle()
    let membership = Membership(
      group: world.group, items: world.items, forks: ControlForks(),
      proofs: ProofBook(isTrusting: true))
    return (membership, author, seen)
  }

  @Test("A later change never counts for more than an earlier one that had seen the same")
  func falls() {
    var fell = 0
    for seed in 0..<400 {
      var random = SplitMix64(seed: UInt64(seed))
      let (membership, author, views) = JudgementLawTests.group(&random)
      for heads in views {
        let worths = (1...14).map { sequence in
          JudgementLawTests.worth(
            membership.changes.judge(
              Dot(author: author, sequence: UInt64(sequence)), in: JudgementLawTests.zone,
              at: heads))
        }
        #expect(worths == worths.sorted(by: >), "seed \(seed): \(worths)")
        if Set(worths).count > 1 { fell += 1 }
      }
    }
    #expect(fell > 100)
  }
}
