/// A test of the oracle itself: the same acts written in another true order.
///
/// No resolver can tell the two worlds apart, so what the oracle is certain of in one must not
/// contradict what it is certain of in the other.
package enum TwoWorlds {
  /// The same acts in another order that their claims allow.
  package static func reordered(_ history: History, seed: UInt64) -> History {
    var random = SplitMix64(seed: seed)
    var written: [Int: Int] = [:]
    var rest = history.acts
    var result: [Act] = []
    while !rest.isEmpty {
      let free = rest.indices.filter { place in
        let act = rest[place]
        return written[act.device, default: 0] == act.sequence
          && act.claims.allSatisfy { written[$0.key, default: 0] >= $0.value }
      }
      let eager = free.min { weight(rest[$0], seed) < weight(rest[$1], seed) }
      guard let place = seed % 3 == 0 || random.chance(10) ? random.pick(free) : eager else {
        return history
      }
      let act = rest.remove(at: place)
      written[act.device] = act.sequence + 1
      result.append(act)
    }
    var other = history
    other.acts = result
    return other
  }

  /// Some devices are quick and others slow, so that acts move far.
  private static func weight(_ act: Act, _ seed: UInt64) -> UInt64 {
    var mixed = SplitMix64(seed: seed &* 1_000 &+ UInt64(max(0, act.device)))
    return mixed.next()
  }

  /// What contradicts, or nil.
  package static func contradiction(_ history: History, seed: UInt64) -> String? {
    let other = reordered(history, seed: seed)
    guard let ledger = Ledger(history.acts), let mixed = Ledger(other.acts), !ledger.isStrange
    else { return nil }
    let one = Truth(ledger)
    let two = Truth(mixed)
    guard one.isStable, two.isStable else { return nil }
    if let text = clash(one, two) {
      return text + "\n" + lines(history, one) + "\n--- there\n" + lines(other, two)
    }
    for probe in one.probes(history) {
      guard let changed = Ledger(probe.acts), !changed.isStrange else { continue }
      let three = Truth(changed)
      guard three.isStable, let text = clash(three, two) else { continue }
      var silent = history
      silent.acts = probe.acts
      return "\(probe.promise.rawValue), \(probe.what): \(text)\n" + lines(silent, three)
        + "\n--- there\n" + lines(other, two) + "\n--- here\n" + lines(history, one)
    }
    return nil
  }

  private static func clash(_ one: Truth, _ two: Truth) -> String? {
    for (person, standing) in one.final.people.enumerated() {
      let id = one.ledger.personIDs[person]
      let other = two.ledger.place(ofPerson: id).map { two.final.people[$0] } ?? .out
      if !standing.meets(other) { return "p\(id): \(standing.words) here, \(other.words) there" }
    }
    for (device, id) in one.ledger.deviceIDs.enumerated() {
      guard let place = two.ledger.place(ofDevice: id) else { continue }
      let here = one.presence(device)
      let there = two.presence(place)
      if (here.isIn && there.isIn) || (here.isOut && there.isOut) { continue }
      return "d\(id): in \(here.isIn) out \(here.isOut) here, in \(there.isIn) "
        + "out \(there.isOut) there"
    }
    return nil
  }

  /// A smaller history with a contradiction, and the contradiction.
  package static func shrink(_ history: History, seed: UInt64) -> (History, String)? {
    guard var text = contradiction(history, seed: seed) else { return nil }
    var best = history
    var isMoving = true
    while isMoving {
      isMoving = false
      for place in best.acts.indices.reversed() where place < best.acts.count {
        let smaller = best.without(place)
        for trial in 0..<12 {
          guard let found = contradiction(smaller, seed: UInt64(trial)) else { continue }
          best = smaller
          text = found
          isMoving = true
          break
        }
      }
    }
    return (best, text)
  }

  private static func lines(_ history: History, _ truth: Truth) -> String {
    history.acts.enumerated().map { time, act in
      let mark = truth.isCertain[time] ? "certain" : truth.armed[time] ? "possible" : "void"
      return history.line(act) + " [\(mark)]"
    }.joined(separator: "\n")
  }
}

extension Truth {
  func presence(_ device: Int) -> (isIn: Bool, isOut: Bool) {
    let person = ledger.owner[device]
    let standing = person < 0 ? Standing.out : final.people[person]
    return (
      final.mayBeIn[device] && standing.mayBeIn, final.mayBeOut[device] || standing.mayBeOut
    )
  }
}

extension Standing {
  func meets(_ other: Standing) -> Bool { bits & other.bits != 0 }
}
