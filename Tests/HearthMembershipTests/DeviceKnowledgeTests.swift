import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership

/// What a device had seen in its earlier incarnations.
@Suite("Knowledge of devices with several incarnations")
struct DeviceKnowledgeTests {
  private static func author(_ device: Int, _ life: UInt64) -> Author {
    Author(device: EngineFamily.id(device), incarnation: life << 32)
  }

  /// Logs of a few devices in several lives, in order of position, whose causes grow as they like:
  /// some have seen what a later life writes.
  private static func logs(_ random: inout SplitMix64) -> [ControlItem] {
    var items: [ControlItem] = []
    let authors = (1...3).flatMap { device in
      (1...UInt64(1 + random.below(5))).map { author(device, $0) }
    }.sorted()
    for author in authors {
      var cause = Frontier()
      for sequence in 1...UInt64(1 + random.below(4)) {
        for _ in 0..<random.below(3) {
          let other = authors[random.below(authors.count)]
          if other != author { cause.advance(other, to: UInt64(1 + random.below(4))) }
        }
        items.append(
          ControlItem(
            id: Identifier(high: author.incarnation, low: sequence),
            version: Version(
              dot: Dot(author: author, sequence: sequence), time: HybridTime(milliseconds: 1)),
            cause: cause, operation: .heartbeat([])))
        cause.advance(author, to: sequence)
      }
    }
    return items
  }

  /// The rule: everything that earlier lives had seen in operations that had not seen this one.
  private static func known(_ item: ControlItem, _ items: [ControlItem]) -> Frontier {
    items.reduce(item.cause) { known, other in
      let isEarlier =
        other.device == item.device
        && other.position.author.incarnation < item.position.author.incarnation
      return isEarlier && !other.cause.covers(item.position)
        ? known.joined(with: other.cause) : known
    }
  }

  @Test("A new life has seen what the earlier ones had, but for what had seen the new one")
  func lives() {
    var liars = 0
    for seed in 0..<500 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let items = Self.logs(&random)
      var knowledge = DeviceKnowledge(items)
      for item in items {
        let known = Self.known(item, items)
        let found = item.cause.joined(with: knowledge.more(of: item))
        #expect(found == known, "seed \(seed), \(item.position)")
        let whole = items.filter {
          $0.device == item.device
            && $0.position.author.incarnation < item.position.author.incarnation
        }.reduce(item.cause) { $0.joined(with: $1.cause) }
        if whole != known { liars += 1 }
      }
    }
    #expect(liars > 500)
  }
}
