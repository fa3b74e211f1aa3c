import HearthCRDT
import HearthMembership

/// Control logs that cost the most where devices have several histories or lives.
struct ForkShapes {
  /// How many operations a log gets, at most.
  let operations: Int

  /// All of them by name.
  var all: [(name: String, write: (inout ResolverLog) -> Void)] {
    [
      ("two histories of a removed admin", removed), ("joinings in two histories", joinings),
      ("words in two histories", words), ("everybody has two histories", everybody),
      ("66 histories of one log", comb), ("two histories, shown by everybody", shown),
      ("a device with 250 lives", lives), ("lives that claim to have seen the last", lies),
    ]
  }

  /// Admins 1 to 20 and members 21 to 40.
  private func household(_ log: inout ResolverLog) {
    for person in 1...20 { log.bring(person, .admin) }
    for person in 21...40 { log.bring(person, .member) }
  }

  private func fill(_ log: inout ResolverLog, _ histories: LogHistory...) {
    let shown = histories.reduce(0) { $0 + $1.count }
    while log.items.count + shown < operations { log.write(0, .heartbeat([])) }
  }

  /// The owner removes an admin, who goes on in two histories as if nobody had.
  private func removed(_ log: inout ResolverLog) {
    household(&log)
    var (one, other) = (log.history(1, of: 1), log.history(2, of: 1))
    log.remove(0, 1)
    for turn in 0..<(operations / 2 - 40) {
      one.write(log.roleChange(21 + turn % 20, turn % 3 == 0 ? .child : .reader))
      other.write(turn % 2 == 0 ? .heartbeat([]) : log.roleChange(21 + turn % 7, .child))
    }
    log.show(one, by: [2])
    log.show(other, by: [2, 3])
    fill(&log, one, other)
  }

  /// An admin lets in the same people with other devices in a second history; half of the admins
  /// have seen one history only.
  private func joinings(_ log: inout ResolverLog) {
    household(&log)
    let invite = log.invite(1, .member, uses: operations, .approve)
    let before = log.seen
    var (one, other) = (log.history(1, of: 1), log.history(2, of: 1))
    for turn in 0..<(operations * 2 / 5) {
      one.write(log.admission(of: 1_000 + turn, as: 1_000 + turn, by: invite))
      other.write(log.admission(of: 20_000 + turn, as: 1_000 + turn, by: invite))
    }
    for (device, history) in zip(2...20, [one, other].cycled(19)) {
      log.write(
        device, .heartbeat([]), seen: history.cause(beside: before), citing: [history.citation])
    }
    log.show(one, by: [21])
    log.show(other, by: [22])
    fill(&log, one, other)
  }

  /// A member names recovery words again and again after two histories of the first ones.
  private func words(_ log: inout ResolverLog) {
    household(&log)
    var (one, other) = (log.history(1, of: 21), log.history(2, of: 21))
    let key = [UInt8](repeating: 6, count: 32)
    let words = ControlOperation.setRecovery(.init(sign: key, box: key, secrets: []))
    one.write(words)
    other.write(words)
    log.show(one, by: [2])
    log.show(other, by: [2])
    log.begin(life: 2, of: 21)
    while log.items.count + 2 < operations { log.write(21, words) }
  }

  /// Each of a hundred admins has two histories, in which they set roles.
  private func everybody(_ log: inout ResolverLog) {
    let people = 100
    for person in 1...people { log.bring(person, .admin) }
    for person in 101...120 { log.bring(person, .member) }
    let each = (operations - log.items.count - 2 * people) / (2 * people)
    for person in 1...people {
      for number in [2 * person, 2 * person + 1] {
        var history = log.history(number, of: person)
        for turn in 0..<each {
          let role: Role = turn % 2 == 0 ? .child : .reader
          history.write(log.roleChange(101 + (turn + number) % 20, role))
        }
        log.show(history, by: [0])
      }
    }
  }

  /// From every few changes of an admin's log another history goes on.
  private func comb(_ log: inout ResolverLog) {
    household(&log)
    let count = 65
    let each = (operations - log.items.count - count) / (count + 1) / 2
    var trunk = log.history(0, of: 1)
    for turn in 0..<(each * (count + 1)) { trunk.write(log.roleChange(21 + turn % 20, .child)) }
    log.show(trunk, by: [2])
    for number in 1...count {
      var history = LogHistory(number, of: log.author(1), after: trunk.change(number * each))
      for turn in 0..<each { history.write(log.roleChange(21 + turn % 20, .reader)) }
      log.show(history, by: [2])
    }
  }

  /// A thousand members show two histories, each for itself.
  private func shown(_ log: inout ResolverLog) {
    let people = operations / 10
    let invite = log.invite(0, .member, uses: people)
    let before = log.seen
    for person in 1...people { log.join(person, as: person, by: invite, seen: before) }
    var (one, other) = (log.history(1, of: 1), log.history(2, of: 1))
    for _ in 0..<(operations / 10) {
      one.write(.heartbeat([]))
      other.write(.heartbeat([]))
    }
    log.show(one, by: 2...people)
    log.show(other, by: 2...people)
    fill(&log, one, other)
  }

  /// A member's device that begins again every few changes.
  private func lives(_ log: inout ResolverLog) { live(&log, isLying: false) }

  /// The same, where the last change of each life claims to have seen the last life's changes.
  private func lies(_ log: inout ResolverLog) { live(&log, isLying: true) }

  private func live(_ log: inout ResolverLog, isLying: Bool) {
    log.bring(1, .member)
    let count = 250
    let each = (operations - log.items.count) / count
    log.begin(life: count + 1, of: 1)
    let last = log.author(1)
    for life in 2...(count + 1) {
      log.begin(life: life, of: 1)
      for turn in 1...each {
        var seen = log.seen
        if isLying, turn == each, life <= count { seen.advance(last, to: UInt64(each)) }
        log.write(1, .heartbeat([]), seen: seen)
      }
    }
  }
}

extension Array {
  /// So many elements, in turn.
  fileprivate func cycled(_ length: Int) -> [Element] { (0..<length).map { self[$0 % count] } }
}
