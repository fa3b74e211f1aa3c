import HearthCRDT
import Testing

/// A replicated type, as the law checker sees it.
package struct ConvergentType<State: Equatable & Sendable, Action: Sendable>: Sendable {
  /// The state that has seen nothing.
  package let empty: State
  /// Applies one action of a change.
  package let apply: @Sendable (Action, inout State, Version, Frontier) -> Void
  /// Merges two states, each with what its replica knows.
  package let join: @Sendable (State, Frontier, State, Frontier) -> State
  /// Encodes a state and decodes it again: the state and the bytes of both times.
  ///
  /// Nil where the type has no encoding of its own.
  package let recode: (@Sendable (State, [Author]) throws -> (State, [UInt8], [UInt8]))?
  /// Compares a state with the type's definition over the causal graph; says what differs.
  package let fault: @Sendable (State, CausalRun<Action>, Frontier) -> String?

  package init(
    empty: State,
    apply: @escaping @Sendable (Action, inout State, Version, Frontier) -> Void,
    join: @escaping @Sendable (State, Frontier, State, Frontier) -> State,
    recode: (@Sendable (State, [Author]) throws -> (State, [UInt8], [UInt8]))?,
    fault: @escaping @Sendable (State, CausalRun<Action>, Frontier) -> String?
  ) {
    self.empty = empty
    self.apply = apply
    self.join = join
    self.recode = recode
    self.fault = fault
  }

  private func applied(_ change: RunChange<Action>, to state: State) -> State {
    var state = state
    for action in change.actions { apply(action, &state, change.version, change.past) }
    return state
  }

  /// The state of applying changes one after another.
  package func replayed(_ changes: [RunChange<Action>]) -> State {
    changes.reduce(empty) { applied($1, to: $0) }
  }
}

// MARK: - Exhaustive

extension ConvergentType {
  /// Checks every law on a whole run; returns the first fault.
  ///
  /// - Order: the whole is reached from every part that lacks one of its last changes, and all ways
  ///   must give one state. By induction over shorter runs that is every order that respects
  ///   causality.
  /// - Join: the join of the states of any two parts that make up the whole, both ways round, is
  ///   the state of the whole. That contains commutativity, idempotence, the empty state as
  ///   identity and, because the union of parts is associative and states are functions of parts,
  ///   associativity.
  /// - Definition and encoding: on the whole's state.
  ///
  /// - Parameter parts: all causally closed parts of the run, each after those it contains.
  package func firstFault(in run: CausalRun<Action>, parts: [Frontier]) -> String? {
    let whole = run.frontier
    var states: [Frontier: State] = [Frontier(): empty]
    for part in parts {
      guard let state = states[part] else { return "part \(part) was not reached" }
      for change in run.changes
      where part[change.version.dot.author] + 1 == change.version.dot.sequence
        && part.covers(change.past)
      {
        var next = part
        next.advance(change.version.dot.author, to: change.version.dot.sequence)
        if next != whole, states[next] != nil { continue }
        let result = applied(change, to: state)
        if let other = states[next], other != result {
          return "order decides:\n  \(other)\n  \(result)"
        }
        states[next] = result
      }
    }
    guard let state = states[whole] else { return "the whole was not reached" }
    if let fault = fault(state, run, whole) { return "definition: \(fault)\n  \(state)" }
    if let fault = codingFault(state, run.authors) { return "coding: \(fault)" }
    return joinFault(states, parts, whole)
  }

  private func joinFault(
    _ states: [Frontier: State], _ parts: [Frontier], _ whole: Frontier
  ) -> String? {
    for left in parts {
      for right in parts where left.joined(with: right) == whole {
        guard let a = states[left], let b = states[right] else { return "no state for a part" }
        let result = join(a, left, b, right)
        if result != states[whole] {
          return "join of \(left) and \(right):\n  \(result)"
        }
      }
    }
    return nil
  }

  private func codingFault(_ state: State, _ authors: [Author]) -> String? {
    guard let recode else { return nil }
    do {
      let (again, bytes, bytesAgain) = try recode(state, authors)
      if again != state { return "decoded to another state" }
      return bytes == bytesAgain ? nil : "encoded to other bytes"
    } catch {
      return "\(error)"
    }
  }

  /// Checks the laws on all graphs up to a size, with all choices of actions and all clocks.
  package func checkAll(
    upTo most: Int, authors: Int, alphabet: [[Action]],
    clocks: [RunClocks] = RunClocks.allCases, location: SourceLocation = #_sourceLocation
  ) {
    for count in 1...most {
      for graph in CausalGraph.all(count: count, authorCount: authors) {
        let parts = graph.downsets()
        var choice = [Int](repeating: 0, count: count)
        repeat {
          for clock in clocks {
            let run = graph.run(choice.map { alphabet[$0] }, clocks: clock)
            if let fault = firstFault(in: run, parts: parts) {
              Issue.record("\(fault)\nclocks \(clock), run \(run)", sourceLocation: location)
              return
            }
          }
        } while ConvergentType.advance(&choice, base: alphabet.count)
      }
    }
  }

  /// Counts up; false after the last choice.
  private static func advance(_ choice: inout [Int], base: Int) -> Bool {
    for place in choice.indices {
      choice[place] += 1
      if choice[place] < base { return true }
      choice[place] = 0
    }
    return false
  }
}

// MARK: - Random

extension ConvergentType {
  /// Checks the laws on a long seeded run, at random parts, in random orders.
  package func check(
    _ run: CausalRun<Action>, seed: UInt64, rounds: Int = 8,
    location: SourceLocation = #_sourceLocation
  ) {
    var random = SplitMix64(seed: seed ^ 0xfeed)
    func expect(_ law: String, _ left: State, _ right: State) {
      if left != right { Issue.record("\(law), seed \(seed)", sourceLocation: location) }
    }
    let all = run.frontier
    expect(
      "order", replayed(run.changes), replayed(run.shuffled(in: all, using: &random)))
    for _ in 0..<rounds {
      let parts = (0..<3).map { _ in run.someKnowledge(using: &random) }
      let states = parts.map { replayed(run.shuffled(in: $0, using: &random)) }
      let (a, b, c) = (states[0], states[1], states[2])
      let both = parts[0].joined(with: parts[1])
      let ab = join(a, parts[0], b, parts[1])
      expect("join is apply", ab, replayed(run.changes(in: both)))
      expect("commutative", ab, join(b, parts[1], a, parts[0]))
      expect("idempotent", a, join(a, parts[0], a, parts[0]))
      expect("absorbing", ab, join(ab, both, a, parts[0]))
      expect("identity", a, join(a, parts[0], empty, Frontier()))
      let bc = join(b, parts[1], c, parts[2])
      expect(
        "associative", join(ab, both, c, parts[2]),
        join(a, parts[0], bc, parts[1].joined(with: parts[2])))
      for (part, state) in [(parts[0], a), (both, ab)] {
        if let fault = fault(state, run, part) ?? codingFault(state, run.authors) {
          Issue.record("\(fault), seed \(seed)", sourceLocation: location)
        }
      }
    }
  }
}
