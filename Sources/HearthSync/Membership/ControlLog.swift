import HearthCRDT

/// One control operation with its place in the causal order.
struct ControlItem: Sendable {
  /// The id that it goes by: that of its event, with the content where the log has two histories.
  let id: RecordID
  /// The id of its event.
  let eventID: RecordID
  let version: Version
  /// Where it stands among the causes: its change, of the history in which it is.
  private(set) var position: Dot
  /// Everything its author had seen, its own earlier changes included.
  private(set) var cause: Frontier
  let operation: ControlOperation
  /// What its change cites by content.
  let citations: [Citation]
  /// The run of a forked log that holds it; nil in logs of one history.
  let branch: Int?

  init(
    id: RecordID, version: Version, cause: Frontier, operation: ControlOperation,
    citations: [Citation] = [], eventID: RecordID? = nil, branch: Int? = nil
  ) {
    self.id = id
    self.eventID = eventID ?? id
    self.version = version
    position = version.dot
    self.cause = cause
    self.operation = operation
    self.citations = citations
    self.branch = branch
  }

  /// The device that wrote it.
  var device: DeviceID { version.dot.author.device }

  /// The same as if its author had seen more.
  func having(seen more: Frontier) -> ControlItem {
    var item = self
    item.cause = cause.joined(with: more)
    return item
  }

  /// The same at a place of the fold.
  func placed(at position: Dot, cause: Frontier) -> ControlItem {
    var item = self
    item.position = position
    item.cause = cause
    return item
  }
}

/// A group's control operations in the one order on which every replica agrees: causes first, and
/// among the others by Lamport number, author and number in the author's log.
struct ControlLog: Sendable {
  let items: [ControlItem]
  /// What citations mean where logs have more than one history.
  let forked: ForkedCauses

  /// Orders items that come in any order.
  ///
  /// The Lamport number of a change is one more than the greatest of those it had seen, so it says
  /// nothing but what the causes say: no clock counts. O(c·a + n log n) for n items of c changes by
  /// a authors.
  init(_ said: [ControlItem], forks: ControlForks = ControlForks()) {
    var unordered = said
    forked = ForkedCauses(forks, items: &unordered)
    unordered = DeviceKnowledge(unordered).applied(to: unordered)
    var chains: [Author: [UInt64]] = [:]
    var causes: [Dot: Frontier] = [:]
    for item in unordered where causes.updateValue(item.cause, forKey: item.position) == nil {
      chains[item.position.author, default: []].append(item.position.sequence)
    }
    let numbering = LamportNumbering(chains: chains, causes: causes)
    let numbered = unordered.map { (numbering.number(of: $0.position), $0) }
    items = numbered.sorted { left, right in
      if left.0 != right.0 { return left.0 < right.0 }
      if left.1.position != right.1.position { return left.1.position < right.1.position }
      let phases = (left.1.operation.phase, right.1.operation.phase)
      return phases.0 != phases.1 ? phases.0 < phases.1 : left.1.id < right.1.id
    }.map(\.1)
  }

  /// Whether an operation is in the past of a later one.
  ///
  /// Operations of one change see those that come before them in it.
  func sees(_ later: Int, _ earlier: Int) -> Bool {
    if Mutant.comparesClocks.isActive {
      return earlier < later && items[earlier].version.time < items[later].version.time
    }
    return earlier < later
      && (items[later].cause.covers(items[earlier].position)
        || items[later].position == items[earlier].position)
  }

  /// Whether neither of two operations had seen the other.
  func areConcurrent(_ one: Int, _ other: Int) -> Bool {
    one != other && !sees(one, other) && !sees(other, one)
  }

  /// Whether an operation may take away another of the same time.
  ///
  /// Not where another history of its author's life had seen it, or holds it: nobody unsees by
  /// contradicting himself what happened meanwhile.
  func mayStrike(_ striker: Int, _ place: Int) -> Bool {
    guard areConcurrent(striker, place) else { return false }
    return !areBranches(striker, place)
      && forked.beside[items[striker].position.author]?.covers(items[place].position) != true
  }

  /// Whether two operations are in two histories of one life.
  func areBranches(_ one: Int, _ other: Int) -> Bool {
    items[one].version.dot.author == items[other].version.dot.author && areConcurrent(one, other)
  }
}

/// What each device has shown to know: nobody unsees it by beginning a new life.
///
/// An operation counts as having seen what earlier lives of its device had seen in operations that
/// had not seen it. Without this a device that is stolen could write from a new life as if it were
/// the first day. Lives are in order of their number; one that is earlier than the life in which
/// the device came does not count at all. A device with one life is not touched. Only what is
/// written in operations counts, so it is the same in every order of arrival.
private struct DeviceKnowledge {
  /// The causes of the operations of each life of devices with several, in order of number.
  private var lives: [DeviceID: [Log]] = [:]

  /// The causes of the operations of one life, or of one history of it.
  private struct Log {
    let incarnation: UInt64
    let causes: [(sequence: UInt64, cause: Frontier)]
  }

  init(_ items: [ControlItem]) {
    let authors = Set(items.map(\.position.author))
    let several = Dictionary(grouping: authors, by: \.device).filter { $0.value.count > 1 }
    guard !several.isEmpty else { return }
    let logs = Dictionary(grouping: items, by: \.position.author)
    for (device, authors) in several {
      lives[device] = authors.sorted().map { author in
        let own = logs[author] ?? []
        return Log(
          incarnation: own.first?.version.dot.author.incarnation ?? 0,
          causes: own.map { (sequence: $0.position.sequence, cause: $0.cause) }
            .sorted { $0.sequence < $1.sequence })
      }
    }
  }

  func applied(to items: [ControlItem]) -> [ControlItem] {
    lives.isEmpty ? items : items.map { $0.having(seen: shown(beside: $0)) }
  }

  /// What earlier lives of an operation's device had seen, as far as they had not seen it.
  ///
  /// Along one life what was seen only grows, so the last that had not seen it tells all.
  private func shown(beside item: ControlItem) -> Frontier {
    let dot = item.position
    let incarnation = item.version.dot.author.incarnation
    return (lives[item.device] ?? []).reduce(Frontier()) { shown, life in
      guard life.incarnation < incarnation else { return shown }
      var low = 0
      var high = life.causes.count
      while low < high {
        let middle = (low + high) / 2
        if life.causes[middle].cause.covers(dot) { high = middle } else { low = middle + 1 }
      }
      return low > 0 ? shown.joined(with: life.causes[low - 1].cause) : shown
    }
  }
}

/// Numbers changes so that each has a greater number than all it had seen.
private struct LamportNumbering {
  /// The numbers of the changes of each author that are here, in order of author.
  private var chains: [(author: Author, changes: [(sequence: UInt64, number: Int)])]
  private let causes: [Dot: Frontier]
  /// Changes that are being numbered: what leads back to them is a lie about causes.
  private var open: Set<Dot> = []

  init(chains: [Author: [UInt64]], causes: [Dot: Frontier]) {
    self.chains = chains.keys.sorted().map { author in
      (author, (chains[author] ?? []).sorted().map { ($0, 0) })
    }
    self.causes = causes
    for chain in self.chains {
      for change in chain.changes { number(Dot(author: chain.author, sequence: change.sequence)) }
    }
  }

  /// The number of a change, at least 1.
  func number(of dot: Dot) -> Int {
    guard let chain = chain(of: dot.author), let place = last(dot.sequence, in: chain) else {
      return 0
    }
    return chains[chain].changes[place].number
  }

  /// Numbers a change after everything it had seen, without recursion: a log may be long.
  private mutating func number(_ dot: Dot) {
    var stack = [dot]
    while let top = stack.last {
      guard number(of: top) == 0 else {
        stack.removeLast()
        continue
      }
      let isFirstVisit = open.insert(top).inserted
      var greatest = 0
      var missing: [Dot] = []
      forEachCause(of: top) { cause, number in
        greatest = max(greatest, number)
        if number == 0, isFirstVisit, !open.contains(cause) { missing.append(cause) }
      }
      if missing.isEmpty {
        stack.removeLast()
        set(greatest + 1, of: top)
      } else {
        stack += missing
      }
    }
  }

  /// Calls the body with the last change that was seen of each author: two sorted lists side by
  /// side.
  private func forEachCause(of dot: Dot, _ body: (Dot, Int) -> Void) {
    guard let cause = causes[dot] else { return }
    var place = 0
    for entry in cause.entries {
      while place < chains.count, chains[place].author < entry.author { place += 1 }
      guard place < chains.count else { return }
      guard chains[place].author == entry.author, let last = last(entry.sequence, in: place),
        chains[place].author != dot.author || chains[place].changes[last].sequence < dot.sequence
      else { continue }
      let change = chains[place].changes[last]
      body(Dot(author: entry.author, sequence: change.sequence), change.number)
    }
  }

  private mutating func set(_ number: Int, of dot: Dot) {
    guard let chain = chain(of: dot.author), let place = last(dot.sequence, in: chain) else {
      return
    }
    chains[chain].changes[place].number = number
  }

  private func chain(of author: Author) -> Int? {
    var low = 0
    var high = chains.count
    while low < high {
      let middle = (low + high) / 2
      if chains[middle].author < author { low = middle + 1 } else { high = middle }
    }
    return low < chains.count && chains[low].author == author ? low : nil
  }

  /// The place of the last change of a chain that is not beyond a number.
  private func last(_ sequence: UInt64, in chain: Int) -> Int? {
    let changes = chains[chain].changes
    // Logs have no gaps as a rule: the place follows from the number.
    let guess = Int(clamping: min(sequence, UInt64(changes.count))) - 1
    if guess >= 0, changes[guess].sequence == UInt64(guess + 1),
      guess + 1 == changes.count || changes[guess + 1].sequence > sequence
    {
      return guess
    }
    var low = 0
    var high = changes.count
    while low < high {
      let middle = (low + high) / 2
      if changes[middle].sequence <= sequence { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? low - 1 : nil
  }
}
