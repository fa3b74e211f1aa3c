import HearthCRDT
import TestSupport
import Testing

/// A second, naive text: every character is a node of a tree.
///
/// It was written from the promise in words, by somebody who had seen neither the product's code
/// nor the decision about it.
struct NaiveText {
  private struct Insertion {
    let dot: Dot
    let start: Int
    var characters: [Unicode.Scalar]
    let anchor: TextAnchor
  }

  private var insertions: [Insertion] = []
  private var erased: Set<TextPlace> = []

  mutating func apply(_ edit: TextEdit, dot: Dot, past: Frontier) {
    func knows(_ place: TextPlace) -> Bool { place.dot == dot || past.covers(place.dot) }
    switch edit {
    case .insert(let text, let anchor):
      guard anchor.place.map(knows) ?? true, !text.isEmpty else { return }
      let start = insertions.filter { $0.dot == dot }.reduce(0) { $0 + $1.characters.count }
      // What one change writes on is one insertion.
      if let last = insertions.lastIndex(where: { $0.dot == dot }),
        anchor == .behind(TextPlace(dot: dot, offset: start - 1))
      {
        insertions[last].characters += text.unicodeScalars
        return
      }
      insertions.append(
        Insertion(dot: dot, start: start, characters: Array(text.unicodeScalars), anchor: anchor))
    case .erase(let span):
      guard knows(span.first) else { return }
      for insertion in insertions where insertion.dot == span.first.dot {
        let end = insertion.start + insertion.characters.count
        guard (insertion.start..<end).contains(span.first.offset) else { continue }
        for offset in span.first.offset..<end where offset - span.first.offset < span.count {
          erased.insert(TextPlace(dot: insertion.dot, offset: offset))
        }
      }
    }
  }

  /// The characters in order, and whether anything hangs behind the beginning.
  private func walk() -> (all: [Node], hasFirst: Bool) {
    var (scalars, left, right): ([TextPlace: Unicode.Scalar], Children, Children) = ([:], [:], [:])
    var roots: [TextPlace] = []
    for insertion in insertions {
      var last: TextPlace?
      for (number, scalar) in insertion.characters.enumerated() {
        let place = TextPlace(dot: insertion.dot, offset: insertion.start + number)
        scalars[place] = scalar
        if let last { right[last, default: []].append(place) }
        last = place
      }
      let first = TextPlace(dot: insertion.dot, offset: insertion.start)
      switch insertion.anchor {
      case .start: roots.append(first)
      case .before(let place): left[place, default: []].append(first)
      case .behind(let place): right[place, default: []].append(first)
      }
    }
    var all: [Node] = []
    func visit(_ place: TextPlace) {
      for child in (left[place] ?? []).sorted() { visit(child) }
      if let scalar = scalars[place] {
        all.append(
          Node(
            place: place, scalar: scalar, isShown: !erased.contains(place),
            hasRight: right[place] != nil))
      }
      for child in (right[place] ?? []).sorted() { visit(child) }
    }
    for root in roots.sorted() { visit(root) }
    // What hangs at a character that there is not comes last.
    let orphans = insertions.filter { insertion in
      insertion.anchor.place.map { scalars[$0] == nil } ?? false
    }
    for orphan in orphans.map({ TextPlace(dot: $0.dot, offset: $0.start) }).sorted() {
      visit(orphan)
    }
    return (all, !all.isEmpty)
  }

  private typealias Children = [TextPlace: [TextPlace]]

  private struct Node {
    let place: TextPlace
    let scalar: Unicode.Scalar
    let isShown: Bool
    let hasRight: Bool
  }

  var shown: [Unicode.Scalar] { walk().all.filter(\.isShown).map(\.scalar) }

  /// Where each text that is inserted at one of the places between shown characters hangs.
  var anchors: [TextAnchor] {
    let (all, hasFirst) = walk()
    let shown = all.indices.filter { all[$0].isShown }
    return ([-1] + shown).map { number in
      let hasRight = number < 0 ? hasFirst : all[number].hasRight
      guard hasRight else { return number < 0 ? .start : .behind(all[number].place) }
      return .before(all[number + 1].place)
    }
  }
}

@Suite("Texts beside a naive model")
struct TextModelTests {
  private struct Change {
    let dot: Dot
    let past: Frontier
    let edits: [TextEdit]
  }

  private struct Replica {
    var text = TextSequence()
    var model = NaiveText()
    var known = Frontier()

    mutating func take(_ change: Change) {
      for edit in change.edits {
        text.apply(edit, dot: change.dot, past: change.past)
        model.apply(edit, dot: change.dot, past: change.past)
      }
      known.advance(change.dot.author, to: change.dot.sequence)
    }
  }

  private static let authors = (1...3).map {
    Author(device: Identifier(high: 5, low: UInt64($0)), incarnation: 1)
  }

  /// An edit as a program makes it, or any edit that somebody can write by hand.
  private func edits(
    of replica: Replica, lying isLying: Bool, _ random: inout SplitMix64
  ) -> [TextEdit] {
    let order = TextOrder(replica.text)
    guard isLying, random.oneIn(2) else {
      guard order.count > 0, random.oneIn(3) else {
        let text = random.pick(["a", "bc", "def"])
        return [order.insertion(of: text, at: random.below(order.count + 1))]
      }
      let start = random.below(order.count)
      return order.erasure(of: start..<min(order.count, start + 1 + random.below(4)))
    }
    let place = TextPlace(
      dot: Dot(
        author: random.pick(TextModelTests.authors), sequence: UInt64(1 + random.below(8))),
      offset: random.below(4))
    return [
      random.pick([
        .insert("x", .start), .insert("yz", .before(place)), .insert("w", .behind(place)),
        .erase(TextSpan(first: place, count: 1 + random.below(5))),
      ])
    ]
  }

  private func history(_ random: inout SplitMix64, lying isLying: Bool) -> [Change] {
    var replicas = [Replica](repeating: Replica(), count: TextModelTests.authors.count)
    var changes: [Change] = []
    for _ in 0..<random.below(18) {
      let number = random.below(replicas.count)
      deliver(changes, to: &replicas[number], atMost: random.below(6), &random)
      let (author, past) = (TextModelTests.authors[number], replicas[number].known)
      let dot = Dot(author: author, sequence: past[author] + 1)
      var made: [TextEdit] = []
      for _ in 0...random.below(2) {
        let added = edits(of: replicas[number], lying: isLying, &random)
        for edit in added { replicas[number].text.apply(edit, dot: dot, past: past) }
        for edit in added { replicas[number].model.apply(edit, dot: dot, past: past) }
        made += added
      }
      replicas[number].known.advance(author, to: dot.sequence)
      changes.append(Change(dot: dot, past: past, edits: made))
    }
    return changes
  }

  private func deliver(
    _ changes: [Change], to replica: inout Replica, atMost limit: Int, _ random: inout SplitMix64
  ) {
    for _ in 0..<limit {
      let known = replica.known
      let ready = changes.filter {
        known[$0.dot.author] + 1 == $0.dot.sequence && known.covers($0.past)
      }
      guard !ready.isEmpty else { return }
      replica.take(random.pick(ready))
    }
  }

  @Test("In any order of arrival, with members who lie", arguments: [false, true])
  func comparison(isLying: Bool) {
    for seed in 0..<250 as Range<UInt64> {
      var random = SplitMix64(seed: seed + (isLying ? 5_000 : 0))
      let changes = history(&random, lying: isLying)
      var first: TextSequence?
      for _ in 0..<3 {
        var replica = Replica()
        for _ in changes {
          deliver(changes, to: &replica, atMost: 1, &random)
          let order = TextOrder(replica.text)
          #expect(Array(order.text.unicodeScalars) == replica.model.shown, "seed \(seed)")
          #expect(order.count == replica.model.shown.count, "seed \(seed)")
          let anchors = (0...order.count).map { order.insertion(of: "v", at: $0) }
          #expect(anchors == replica.model.anchors.map { .insert("v", $0) }, "seed \(seed)")
        }
        #expect(first.map { $0 == replica.text } ?? true, "seed \(seed)")
        first = replica.text
      }
    }
  }
}
