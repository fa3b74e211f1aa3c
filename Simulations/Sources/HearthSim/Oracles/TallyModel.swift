import HearthCRDT
import HearthStore
import HearthSync

/// What the tallies must show, computed from all changes at once and from nothing else.
///
/// Independent of the merging code: a value is there if no other write has it in its past, a sum is
/// a sum, and a record is gone if its deleters had seen every write.
struct TallyModel {
  /// A frontier of its own.
  private typealias Knowledge = [Author: UInt64]

  private struct Item {
    let version: Version
    let past: Knowledge
    let body: Operation.Body

    func sees(_ other: Item) -> Bool {
      past[other.version.dot.author, default: 0] >= other.version.dot.sequence
    }
  }

  private var items: [RecordKey: [Item]] = [:]
  /// Whether every change up to the last of each author is known.
  private(set) var isComplete = true

  /// - Parameters:
  ///   - frontier: how far the logs are that are compared. What a device published before it was
  ///     lost may be known to others alone.
  ///   - roles: what each change counts for.
  init(_ changes: [Dot: Change], through frontier: Frontier, _ roles: ChangeRoles) {
    isComplete =
      roles.isWhole
      && frontier.entries.allSatisfy {
        changes[Dot(author: $0.author, sequence: $0.sequence)] != nil
      }
    guard isComplete else { return }
    let authors = Set(changes.keys.map(\.author)).sorted()
    for author in authors {
      var past: Knowledge = [:]
      let last = changes.keys.lazy.filter { $0.author == author }.map(\.sequence).max() ?? 0
      for sequence in 1...max(1, last) {
        guard let change = changes[Dot(author: author, sequence: sequence)] else {
          isComplete = false
          return
        }
        for news in change.seen.heads { past[news.author] = news.sequence }
        past[author] = sequence - 1
        let version = Version(dot: change.dot, time: change.time)
        for operation in change.operations
        where Tally.types.contains(operation.key.type) && roles.role(change.dot) != nil {
          items[operation.key, default: []].append(
            Item(version: version, past: past, body: operation.body))
        }
      }
    }
  }

  /// Compares a device with the model.
  ///
  /// - Returns: what differs, and whether a number is concerned; nil if nothing does.
  func difference(on device: SimDevice, in zone: ZoneID) throws -> (text: String, isSum: Bool)? {
    for key in items.keys.sorted() {
      guard let items = items[key] else { continue }
      guard case .record(let state)? = try device.engine().store.records.record(key, in: zone)
      else {
        return ("\(key.id.hex.prefix(6)) is not there", false)
      }
      if state.life.isDeleted != TallyModel.isDeleted(items) {
        return ("\(key.id.hex.prefix(6)) lives: \(!state.life.isDeleted)", false)
      }
      let total = items.reduce(Int64(0)) { sum, item in
        if case .count(_, let delta) = item.body { sum + delta } else { sum }
      }
      guard
        state.shown(Tally.total) ?? .null
          == (total == 0 && state[Tally.total] == nil
            ? .null : .int(total))
      else { return ("the sum is \(state.shown(Tally.total) ?? .null), not \(total)", true) }
      let text =
        TallyModel.values(items, state) ?? TallyModel.marks(items, state)
        ?? TallyModel.words(items, state)
      if let text {
        return (text, false)
      }
    }
    return nil
  }

  private static func isDeleted(_ items: [Item]) -> Bool {
    var covered: Knowledge = [:]
    for item in items {
      guard case .delete = item.body else { continue }
      covered.merge(item.past, uniquingKeysWith: max)
      covered.merge([item.version.dot.author: item.version.dot.sequence], uniquingKeysWith: max)
    }
    return items.allSatisfy { item in
      if case .delete = item.body { return true }
      return covered[item.version.dot.author, default: 0] >= item.version.dot.sequence
    }
  }

  private static func values(_ items: [Item], _ state: RecordState) -> String? {
    for field in [Tally.label, Tally.note, Tally.price] {
      let writes = items.filter { if case .assign(field, _) = $0.body { true } else { false } }
      let open = writes.filter { write in !writes.contains { $0.sees(write) } }
      guard let shown = open.max(by: { $0.version < $1.version }),
        case .assign(_, let wanted) = shown.body
      else { continue }
      let dots =
        switch state[field] {
        case .register(let register): register.siblings.map(\.version.dot)
        case .history(let history): history.current.map(\.version.dot)
        default: [Dot]()
        }
      guard dots.sorted() == open.map(\.version.dot).sorted(), state.shown(field) == wanted else {
        return "field \(field.rawValue) shows \(state.shown(field) ?? .null) of \(dots.count), "
          + "not \(wanted) of \(open.count)"
      }
    }
    return nil
  }

  /// Every word that somebody typed is there once and whole, unless somebody cut it out.
  private static func words(_ items: [Item], _ state: RecordState) -> String? {
    var (typed, cut): ([(Dot, String)], Set<Dot>) = ([], [])
    for item in items {
      guard case .edit(_, let edit) = item.body else { continue }
      switch edit {
      case .insert(let text, _): typed.append((item.version.dot, text))
      case .erase(let span): cut.insert(span.first.dot)
      }
    }
    let there = typed.filter { !cut.contains($0.0) }.map { $0.1.dropLast() }.sorted()
    let shown = TextOrder(state.text(Tally.body)).text.split(separator: " ").sorted()
    return shown == there ? nil : "it says \(shown), not \(there)"
  }

  private static func marks(_ items: [Item], _ state: RecordState) -> String? {
    var there: Set<String> = []
    for item in items {
      guard case .include(_, let value) = item.body, let text = value.text else { continue }
      let isGone = items.contains {
        if case .exclude(_, value) = $0.body { $0.sees(item) } else { false }
      }
      if !isGone { there.insert(text) }
    }
    let shown = state.elements(Tally.marks).compactMap(\.text)
    return shown.sorted() == there.sorted() ? nil : "it is marked \(shown), not \(there.sorted())"
  }
}
