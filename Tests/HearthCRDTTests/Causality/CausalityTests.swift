import TestSupport
import Testing

@testable import HearthCRDT

/// Who had seen what, compared with sets that are closed in the plainest way.
@Suite("Causes of a log of several authors")
struct CausalityTests {
  /// What authors of some logs state to have seen: as a rule what others did, sometimes what does
  /// not exist, what comes later, exactly what another one stated, or nothing new.
  private func statements(_ random: inout SplitMix64) -> [Causality.Statement] {
    let authors = (0..<UInt64(random.below(90) + 1)).map {
      Author(device: Identifier(high: 7, low: $0), incarnation: 1)
    }
    var written = Frontier()
    var found: [Causality.Statement] = []
    for _ in 0..<random.below(160) {
      let author = authors[random.below(authors.count)]
      let position = Dot(
        author: author, sequence: written[author] + 1 + UInt64(random.below(2)))
      let known = known(after: written, found, authors, by: position, &random)
      found.append(
        Causality.Statement(position: position, name: author, stated: known, more: Frontier()))
      written.advance(author, to: position.sequence)
    }
    return found
  }

  private func known(
    after written: Frontier, _ found: [Causality.Statement], _ authors: [Author],
    by position: Dot, _ random: inout SplitMix64
  ) -> Frontier {
    if random.oneIn(4), let last = found.last(where: { $0.position.author == position.author }) {
      var known = last.stated
      if !random.oneIn(4) { known.advance(position.author, to: last.position.sequence) }
      return known
    }
    if random.oneIn(3), !found.isEmpty {
      return random.pick(found).stated
    }
    var known = written
    if random.oneIn(2) {
      known = Frontier(
        written.entries.filter { _ in !random.oneIn(4) }.map {
          ($0.author, $0.sequence - UInt64(random.below(Int($0.sequence))))
        })
    }
    if random.oneIn(6) {
      let other = authors[random.below(authors.count)]
      known.advance(other, to: written[other] + 1 + UInt64(random.below(3)))
    }
    if random.oneIn(8) { known.advance(position.author, to: position.sequence + 1) }
    return known
  }

  /// For each change in an order the changes that it had seen, with those that these had.
  private func closed(_ statements: [Causality.Statement], in order: [Dot]) -> [Set<Int>] {
    var rows: [Set<Int>] = []
    for (place, position) in order.enumerated() {
      var row: Set<Int> = []
      for earlier in 0..<place {
        let dot = order[earlier]
        let isOwn = dot.author == position.author
        let isCited = statements.contains { $0.position == position && $0.stated.covers(dot) }
        if isOwn || isCited { row.formUnion(rows[earlier].union([earlier])) }
      }
      rows.append(row)
    }
    return rows
  }

  @Test("Nobody unsees, whatever authors state", arguments: 0..<120)
  func closes(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let statements = statements(&random)
    for isChecked in [true, false] {
      let causality = Causality(statements, isChecked: isChecked)
      #expect(Set(causality.order) == Set(statements.map(\.position)), "seed \(seed)")
      let rows = closed(statements, in: causality.order)
      for later in rows.indices {
        for earlier in rows.indices where earlier < later {
          guard causality.sees(later, earlier) != rows[later].contains(earlier) else { continue }
          Issue.record(
            "seed \(seed): \(causality.order[later]) and \(causality.order[earlier])")
          return
        }
        let greatest = rows[later].map { causality.lamport[$0] }.max() ?? 0
        #expect(causality.lamport[later] == greatest + 1, "seed \(seed)")
        var row = causality.row()
        causality.join(later, into: &row)
        #expect(
          rows.indices.allSatisfy { causality.isSeen($0, in: row) == rows[later].contains($0) },
          "seed \(seed)")
      }
    }
  }

  @Test("Whoever has seen nothing new has the same knowledge, and lies no more than before")
  func seesNothingNew() {
    let (anna, ben) = (
      Author(device: Identifier(high: 7, low: 1), incarnation: 1),
      Author(device: Identifier(high: 7, low: 2), incarnation: 1)
    )
    func statement(_ author: Author, _ sequence: UInt64, _ seen: (Author, UInt64)...)
      -> Causality.Statement
    {
      Causality.Statement(
        position: Dot(author: author, sequence: sequence), name: author,
        stated: Frontier(seen.map { ($0.0, $0.1) }), more: Frontier())
    }
    let statements = [
      statement(anna, 1), statement(anna, 2, (anna, 1)),
      // It cites the second change, which cites the first, so it has seen both.
      statement(ben, 1, (anna, 2)),
      statement(ben, 2, (anna, 2), (ben, 1)), statement(ben, 3, (anna, 2), (ben, 2)),
      statement(anna, 3, (anna, 2), (ben, 3)), statement(anna, 4, (anna, 3), (ben, 3)),
    ]
    let causality = Causality(statements, isChecked: true)
    #expect(causality.order == statements.map(\.position))
    #expect(causality.sight == [0, 0, 2, 2, 2, 5, 5])
    #expect(causality.lamport == Array(1...7))
    #expect(causality.isOpen.allSatisfy { !$0 })
    // Anna's third change denies what Ben's second had seen; the next one states the same.
    let lies = [
      statement(ben, 1), statement(anna, 1, (ben, 1)), statement(ben, 2, (anna, 1), (ben, 1)),
      statement(Author(device: Identifier(high: 7, low: 3), incarnation: 1), 1, (ben, 2)),
      statement(
        Author(device: Identifier(high: 7, low: 3), incarnation: 1), 2, (ben, 2),
        (Author(device: Identifier(high: 7, low: 3), incarnation: 1), 1)),
    ]
    #expect(Causality(lies, isChecked: true).isOpen == [false, false, false, true, true])
  }
}
