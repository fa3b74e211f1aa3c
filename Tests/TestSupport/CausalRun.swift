import HearthCRDT

/// One change of a model run: what it did, and what its author had seen.
package struct RunChange<Action: Sendable>: Sendable {
  /// The change's dot and time.
  package let version: Version
  /// Everything the author had seen, its own earlier changes included.
  package let past: Frontier
  /// What it did, in order.
  package let actions: [Action]

  package init(version: Version, past: Frontier, actions: [Action]) {
    self.version = version
    self.past = past
    self.actions = actions
  }
}

/// A run: changes in an order in which each comes after what its author had seen.
package struct CausalRun<Action: Sendable>: Sendable {
  /// The changes.
  package var changes: [RunChange<Action>]

  package init(changes: [RunChange<Action>]) {
    self.changes = changes
  }

  /// Everything.
  package var frontier: Frontier {
    Frontier(changes.map { ($0.version.dot.author, $0.version.dot.sequence) })
  }

  /// The authors, in order.
  package var authors: [Author] {
    Set(changes.map(\.version.dot.author)).sorted()
  }

  /// The changes that are part of some knowledge.
  package func changes(in knowledge: Frontier) -> [RunChange<Action>] {
    changes.filter { knowledge.covers($0.version.dot) }
  }
}

/// The author of a small number in model runs; numbers are in the order of authors.
package func runAuthor(_ number: Int) -> Author {
  Author(
    device: DeviceID(high: 0x4845_4152, low: UInt64(number)), incarnation: 1 << 32 | 0xbeef)
}

/// How the authors' clocks stand to the order in which things happened.
package enum RunClocks: CaseIterable, Sendable {
  /// Clocks agree with causality.
  case honest
  /// Later writes carry earlier times.
  case backwards
  /// All clocks stand still, so that authors break every tie.
  case stopped

  fileprivate func time(of place: Int) -> HybridTime {
    switch self {
    case .honest: HybridTime(milliseconds: 1_000 + UInt64(place))
    case .backwards: HybridTime(milliseconds: 1_000 - UInt64(place))
    case .stopped: HybridTime(milliseconds: 1_000)
    }
  }
}

/// What the authors of a run may have seen, without what they did: a causal graph.
package struct CausalGraph: Sendable {
  /// Each change's dot and past, in an order that respects causality.
  package let nodes: [(dot: Dot, past: Frontier)]

  /// All graphs of `count` changes by up to `authorCount` authors.
  ///
  /// Every choice of author and every causally closed choice of what it has seen, once for each
  /// order of writing.
  package static func all(count: Int, authorCount: Int) -> [CausalGraph] {
    var graphs = [CausalGraph(nodes: [])]
    for _ in 0..<count {
      graphs = graphs.flatMap { $0.extended(authorCount: authorCount) }
    }
    return graphs
  }

  private func extended(authorCount: Int) -> [CausalGraph] {
    var result: [CausalGraph] = []
    for number in 0..<authorCount {
      let author = runAuthor(number)
      let own = nodes.filter { $0.dot.author == author }
      let floor = own.last.map { last in
        last.past.joined(with: Frontier([(author, last.dot.sequence)]))
      }
      for knowledge in downsets() where floor.map({ knowledge.covers($0) }) ?? true {
        let dot = Dot(author: author, sequence: UInt64(own.count) + 1)
        result.append(CausalGraph(nodes: nodes + [(dot, knowledge)]))
      }
    }
    return result
  }

  /// Every causally closed set of the graph's changes, as frontiers, each once.
  package func downsets() -> [Frontier] {
    var known: Set<Frontier> = [Frontier()]
    var order = [Frontier()]
    var place = 0
    while place < order.count {
      let base = order[place]
      place += 1
      for node in nodes
      where base[node.dot.author] + 1 == node.dot.sequence && base.covers(node.past) {
        let next = base.joined(with: Frontier([(node.dot.author, node.dot.sequence)]))
        if known.insert(next).inserted { order.append(next) }
      }
    }
    return order
  }

  /// The run in which each change does what `actions` says for it.
  package func run<Action>(_ actions: [[Action]], clocks: RunClocks) -> CausalRun<Action> {
    CausalRun(
      changes: nodes.enumerated().map { place, node in
        RunChange(
          version: Version(dot: node.dot, time: clocks.time(of: place)), past: node.past,
          actions: actions[place])
      })
  }
}

extension CausalRun {
  /// A seeded run: replicas write, and now and then hear from one another.
  package static func random(
    authors: Int, changes: Int, using random: inout SplitMix64,
    actions: (inout SplitMix64) -> [Action]
  ) -> CausalRun {
    var knowledge = [Frontier](repeating: Frontier(), count: authors)
    var run = CausalRun(changes: [])
    while run.changes.count < changes {
      let number = random.below(authors)
      if random.oneIn(3) {
        knowledge[number] = knowledge[number].joined(with: knowledge[random.below(authors)])
        continue
      }
      let author = runAuthor(number)
      let dot = Dot(author: author, sequence: knowledge[number][author] + 1)
      let time = HybridTime(milliseconds: 1_000 + UInt64(random.below(50)))
      run.changes.append(
        RunChange(
          version: Version(dot: dot, time: time), past: knowledge[number],
          actions: actions(&random)))
      knowledge[number].advance(author, to: dot.sequence)
    }
    return run
  }

  /// A random order that respects causality, of the changes in some knowledge.
  package func shuffled(
    in knowledge: Frontier, using random: inout SplitMix64
  ) -> [RunChange<Action>] {
    var waiting = changes(in: knowledge)
    var applied = Frontier()
    var result: [RunChange<Action>] = []
    while !waiting.isEmpty {
      let ready = waiting.indices.filter { place in
        let change = waiting[place]
        return applied.covers(change.past)
          && applied[change.version.dot.author] + 1 == change.version.dot.sequence
      }
      let change = waiting.remove(at: random.pick(ready))
      applied.advance(change.version.dot.author, to: change.version.dot.sequence)
      result.append(change)
    }
    return result
  }

  /// A random causally closed part of the run.
  package func someKnowledge(using random: inout SplitMix64) -> Frontier {
    var result = Frontier()
    for _ in 0..<random.below(4) {
      let change = random.pick(changes)
      result = result.joined(with: change.past)
      result.advance(change.version.dot.author, to: change.version.dot.sequence)
    }
    return result
  }
}
