import HearthCRDT
import TestSupport
import Testing

/// Replicas that edit one text, with characters that each occur once, so that a text says which
/// insertion each of its characters came from.
private struct TextFamily {
  struct Change {
    let dot: Dot
    let past: Frontier
    let edits: [TextEdit]
  }

  struct Replica {
    let author: Author
    var text = TextSequence()
    var known = Frontier()
    var shown: String { TextOrder(text).text }
  }

  var replicas: [Replica]
  var changes: [Change] = []
  /// Every text that anybody saw.
  var seen: Set<String> = []
  private var next: UInt32 = 0x4e00

  init(_ count: Int) {
    replicas = (0..<count).map { number in
      Replica(
        author: Author(device: Identifier(high: 7, low: UInt64(number)), incarnation: 1))
    }
  }

  mutating func characters(_ count: Int) -> String {
    var text = String.UnicodeScalarView()
    for _ in 0..<count {
      if let scalar = Unicode.Scalar(next) { text.append(scalar) }
      next += 1
    }
    return String(text)
  }

  /// One transaction of a replica, made from what it shows.
  mutating func write(_ number: Int, _ makeEdits: (TextOrder) -> [TextEdit]) {
    let author = replicas[number].author
    let past = replicas[number].known
    let dot = Dot(author: author, sequence: past[author] + 1)
    let edits = makeEdits(TextOrder(replicas[number].text))
    let change = Change(dot: dot, past: past, edits: edits)
    changes.append(change)
    deliver(change, to: number)
  }

  mutating func deliver(_ change: Change, to number: Int) {
    for edit in change.edits {
      replicas[number].text.apply(edit, dot: change.dot, past: change.past)
    }
    replicas[number].known.advance(change.dot.author, to: change.dot.sequence)
    seen.insert(replicas[number].shown)
  }

  /// What a replica lacks and may take now, as its causes are there.
  func next(for number: Int) -> [Change] {
    let known = replicas[number].known
    return changes.filter {
      known[$0.dot.author] + 1 == $0.dot.sequence && known.covers($0.past)
    }
  }

  mutating func meet(_ random: inout SplitMix64) {
    for number in replicas.indices {
      while case let ready = next(for: number), !ready.isEmpty {
        deliver(ready[random.below(ready.count)], to: number)
      }
    }
  }

  mutating func step(_ random: inout SplitMix64) {
    let number = random.below(replicas.count)
    let ready = next(for: number)
    if !ready.isEmpty, random.below(2) == 0 {
      return deliver(ready[random.below(ready.count)], to: number)
    }
    let before = Array(replicas[number].shown.unicodeScalars)
    var after = before
    if !before.isEmpty, random.below(3) == 0 {
      let start = random.below(before.count)
      let range = start..<min(before.count, start + 1 + random.below(4))
      after.removeSubrange(range)
      write(number) { $0.erasure(of: range) }
    } else {
      let added = characters(1 + random.below(3))
      let index = random.below(before.count + 1)
      after.insert(contentsOf: added.unicodeScalars, at: index)
      write(number) { [$0.insertion(of: added, at: index)] }
    }
    #expect(
      Array(replicas[number].shown.unicodeScalars) == after,
      "an own edit does to the shown text what it says")
  }
}

@Suite("Laws of texts")
struct TextLawsTests {
  @Test("Whoever knows the same shows the same, and no two characters ever change places")
  func convergence() {
    for seed in 0..<150 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      var family = TextFamily(2 + random.below(3))
      for _ in 0..<(10 + random.below(30)) { family.step(&random) }
      family.meet(&random)
      let texts = Set(family.replicas.map(\.shown))
      #expect(texts.count == 1, "seed \(seed)")
      #expect(Set(family.replicas.map { TextRuns($0.text) }).count == 1, "seed \(seed)")
      var orders: Set<[Unicode.Scalar]> = []
      for text in family.seen {
        let scalars = Array(text.unicodeScalars)
        for (place, left) in scalars.enumerated() {
          for right in scalars[(place + 1)...] { orders.insert([left, right]) }
        }
      }
      let swapped = orders.filter { orders.contains([$0[1], $0[0]]) }
      #expect(swapped.isEmpty, "seed \(seed)")
    }
  }

  @Test("What is erased anywhere stays erased, and nothing else is")
  func erasures() {
    for seed in 0..<80 as Range<UInt64> {
      var random = SplitMix64(seed: 1_000 + seed)
      var family = TextFamily(3)
      for _ in 0..<40 { family.step(&random) }
      var (inserted, erased): (Set<Unicode.Scalar>, Set<Unicode.Scalar>) = ([], [])
      // Each change is replayed alone on its own author's history of texts.
      for change in family.changes {
        for case .insert(let text, _) in change.edits { inserted.formUnion(text.unicodeScalars) }
      }
      for change in family.changes where change.edits.contains(where: \.isErasure) {
        var replica = TextSequence()
        for other in family.changes where change.past.covers(other.dot) {
          for edit in other.edits { replica.apply(edit, dot: other.dot, past: other.past) }
        }
        let before = Set(TextOrder(replica).text.unicodeScalars)
        for edit in change.edits { replica.apply(edit, dot: change.dot, past: change.past) }
        erased.formUnion(before.subtracting(TextOrder(replica).text.unicodeScalars))
      }
      family.meet(&random)
      let shown = Set(family.replicas[0].shown.unicodeScalars)
      #expect(shown == inserted.subtracting(erased), "seed \(seed)")
    }
  }

  @Test("What two people type at one place, forwards or backwards, does not interleave")
  func interleaving() {
    for isBackward in [false, true] {
      for offset in 0...2 {
        var random = SplitMix64(seed: UInt64(offset))
        var family = TextFamily(2)
        family.write(0) { [$0.insertion(of: "ab", at: 0)] }
        family.meet(&random)
        for number in 0...1 {
          for typed in 0..<5 {
            let text = number == 0 ? "x" : "y"
            family.write(number) {
              [$0.insertion(of: text, at: offset + (isBackward ? 0 : typed))]
            }
          }
        }
        family.meet(&random)
        let shown = family.replicas[0].shown
        #expect(shown == family.replicas[1].shown)
        #expect(
          shown.contains("xxxxx") && shown.contains("yyyyy"),
          "backwards \(isBackward), at \(offset): \(shown)")
      }
    }
  }

  @Test("Merging is commutative, associative and idempotent, and equals taking all changes")
  func merging() {
    for seed in 0..<60 as Range<UInt64> {
      var random = SplitMix64(seed: 2_000 + seed)
      var family = TextFamily(3)
      for _ in 0..<30 { family.step(&random) }
      let (a, b, c) = (family.replicas[0].text, family.replicas[1].text, family.replicas[2].text)
      #expect(a.joined(with: b) == b.joined(with: a), "seed \(seed)")
      #expect(a.joined(with: b).joined(with: c) == a.joined(with: b.joined(with: c)))
      #expect(a.joined(with: a) == a)
      let all = a.joined(with: b).joined(with: c)
      family.meet(&random)
      #expect(family.replicas[0].text == all, "seed \(seed)")
    }
  }

  @Test("The difference of two texts turns one into the other, and spares what is alike")
  func differences() {
    for seed in 0..<300 as Range<UInt64> {
      var random = SplitMix64(seed: 3_000 + seed)
      var family = TextFamily(1)
      let count = seed % 50 == 0 ? 3_000 : 12
      func text() -> String {
        String(
          (0..<random.below(count)).map { _ in random.pick(["a", "b", "e\u{301}", "🏡"]) }.joined())
      }
      for _ in 0..<3 {
        let wanted = text()
        family.write(0) { $0.edits(to: wanted) }
        #expect(
          Array(family.replicas[0].shown.unicodeScalars) == Array(wanted.unicodeScalars),
          "seed \(seed)")
      }
    }
    var random = SplitMix64(seed: 1)
    var family = TextFamily(2)
    family.write(0) { $0.edits(to: "bread, milk and eggs") }
    family.meet(&random)
    family.write(0) { $0.edits(to: "white bread, milk and six eggs") }
    family.write(1) { $0.edits(to: "bread, goat milk and eggs") }
    family.meet(&random)
    #expect(family.replicas[1].shown == "white bread, goat milk and six eggs")
    #expect(TextOrder(family.replicas[0].text).edits(to: family.replicas[0].shown).isEmpty)
  }

  @Test("An edit that names what its author had not seen changes nothing, wherever it arrives")
  func lies() {
    let (ann, mal) = (
      Author(device: Identifier(high: 7, low: 1), incarnation: 1),
      Author(device: Identifier(high: 7, low: 2), incarnation: 1)
    )
    let (typed, lie) = (Dot(author: ann, sequence: 1), Dot(author: mal, sequence: 1))
    let place = TextPlace(dot: typed, offset: 1)
    let lies: [TextEdit] = [
      .erase(TextSpan(first: place, count: 1)), .insert("!", .behind(place)),
      .insert("!", .before(place)),
    ]
    for edit in lies {
      var (before, after) = (TextSequence(), TextSequence())
      before.apply(edit, dot: lie, past: Frontier())
      before.apply(.insert("abc", .start), dot: typed, past: Frontier())
      after.apply(.insert("abc", .start), dot: typed, past: Frontier())
      after.apply(edit, dot: lie, past: Frontier())
      #expect(TextOrder(before).text == "abc" && before == after, "\(edit)")
    }
  }

  @Test("Spans beyond an insertion, anchors that do not exist and deep trees harm nobody")
  func odd() {
    let ann = Author(device: Identifier(high: 7, low: 1), incarnation: 1)
    var text = TextSequence()
    var past = Frontier()
    func write(_ edit: TextEdit) {
      let dot = Dot(author: ann, sequence: past[ann] + 1)
      text.apply(edit, dot: dot, past: past)
      past.advance(ann, to: dot.sequence)
    }
    write(.insert("abc", .start))
    let first = TextPlace(dot: Dot(author: ann, sequence: 1), offset: 0)
    let none = TextPlace(dot: first.dot, offset: 9)
    write(.insert("", .behind(first)))
    write(.insert("?", .behind(none)))
    write(.erase(TextSpan(first: none, count: 1)))
    write(.erase(TextSpan(first: first, count: 0)))
    #expect(TextOrder(text).text == "abc?")
    write(.erase(TextSpan(first: TextPlace(dot: first.dot, offset: 1), count: .max)))
    #expect(TextOrder(text).text == "a?")
    var place = first
    for _ in 0..<20_000 {
      let dot = Dot(author: ann, sequence: past[ann] + 1)
      write(.insert("b", .before(place)))
      place = TextPlace(dot: dot, offset: 0)
    }
    #expect(TextOrder(text).count == TextOrder(text).text.unicodeScalars.count)
    #expect(TextOrder(text).text.hasSuffix("ba?"))
  }
}

extension TextEdit {
  fileprivate var isErasure: Bool {
    if case .erase = self { true } else { false }
  }
}

/// The state of a text, to compare it in sets.
private struct TextRuns: Hashable {
  let text: String

  init(_ sequence: TextSequence) { text = "\(sequence.runs)" }
}
