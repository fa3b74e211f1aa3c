import HearthCRDT
import TestSupport
import Testing

@Suite("Histories of many values")
struct HistoryTests {
  /// What an author had seen that nothing else which it had seen had replaced, by the definition.
  private func current(of past: Frontier, in run: CausalRun<Int>) -> [Dot] {
    let seen = run.changes(in: past)
    return seen.map(\.version.dot).filter { dot in !seen.contains { $0.past.covers(dot) } }.sorted()
  }

  @Test("Each value replaces what its author had seen, in every order of arrival", arguments: 0..<4)
  func replaced(seed: Int) {
    var random = SplitMix64(seed: UInt64(seed))
    let run = CausalRun<Int>.random(authors: 7, changes: 120, using: &random) { dice in
      [dice.below(99)]
    }
    let truth = Dictionary(
      uniqueKeysWithValues: run.changes.map {
        ($0.version.dot, current(of: $0.past, in: run))
      })
    for _ in 0..<3 {
      var history = History()
      for change in run.shuffled(in: run.frontier, using: &random) {
        history.assign(.int(1), version: change.version, past: change.past)
      }
      #expect(history.entries.map(\.version.dot) == truth.keys.sorted())
      for entry in history.entries { #expect(entry.replaced == truth[entry.version.dot]) }
      let read = History(history.entries.shuffled(using: &random))
      #expect(read == history && read.current == history.current)
      for _ in 0..<12 {
        let view = run.someKnowledge(using: &random)
        let shown = current(of: view, in: run).compactMap { dot in
          history.entries.first { $0.version.dot == dot }
        }.max { $0.version < $1.version }
        #expect(history.shown(asOf: view) == shown && read.shown(asOf: view) == shown)
      }
    }
  }

  /// Looking through all values for each further one takes minutes here.
  @Test("A value of one who has not seen all costs no look at all values", .timeLimit(.minutes(1)))
  func cost() throws {
    let (authors, each) = (60, UInt64(1_024))
    func version(_ number: Int, _ sequence: UInt64) -> Version {
      Version(
        dot: Dot(author: runAuthor(number), sequence: sequence),
        time: HybridTime(milliseconds: sequence))
    }
    var history = History(
      (0..<authors).flatMap { number in
        (1...each).map { sequence in
          History.Entry(
            version: version(number, sequence), value: .int(1),
            replaced: sequence > 1 ? [version(number, sequence - 1).dot] : [])
        }
      })
    #expect(history.current.count == authors)
    var past = Frontier((0..<authors).map { (runAuthor($0), $0 == 7 ? 1 : each) })
    let writer = runAuthor(authors)
    for sequence in 1...each {
      history.assign(.int(2), version: version(authors, sequence), past: past)
      past = past.joined(with: Frontier([(writer, sequence)]))
    }
    #expect(history.current.map(\.version.dot.author) == [runAuthor(7), writer])
    let first = try #require(history.entries.first { $0.version.dot == version(authors, 1).dot })
    #expect(first.replaced.count == authors)
    #expect(history.shown(asOf: past)?.version == version(authors, each))
  }
}
