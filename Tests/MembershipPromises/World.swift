/// The past that an author claims.
package enum Claim: Sendable {
  /// Everything that the device itself received: the only claim of an honest device.
  case everything
  /// The past of that act and the act itself, and what the author's log claimed before.
  case asOf(Int)
  /// Nothing new since the author's last own act.
  case nothingNew
  /// Exactly these counts, closed or not.
  case exactly([Int: Int])
}

/// A stage on which acts are written in true order, delivered, withheld and faked.
package struct World: Sendable {
  package private(set) var acts: [Act] = []
  package private(set) var known: [Int: [Int: Int]] = [:]
  package private(set) var persons: [Int: Int] = [:]
  package private(set) var liars: Set<Int>
  /// What each device has received, its own log included.
  package private(set) var received: [Int: [Int: Int]] = [:]
  /// The true time, which every honest clock shows.
  package private(set) var now = 0
  var logs: [Int: [Int]] = [:]
  private var collective: [Int: Int] = [:]
  private var nextInvite = 1

  package init(liars: Set<Int> = []) {
    self.liars = liars
  }

  package var history: History {
    History(acts: acts, liars: liars, known: known, persons: persons)
  }

  /// The device becomes a liar from now on and shares what it knows.
  package mutating func corrupt(_ device: Int) {
    liars.insert(device)
    collective = Self.union(collective, received[device] ?? [:])
  }

  package mutating func newInvite() -> Int {
    defer { nextInvite += 1 }
    return nextInvite
  }

  /// Says whose device this really is; `write` does it for joinings and recoveries.
  package mutating func own(_ device: Int, by person: Int) {
    if persons[device] == nil { persons[device] = person }
  }

  /// The true time becomes this one, unless it is later already.
  package mutating func wait(until time: Int) { now = max(now, time) }

  /// Writes an act and returns its id.
  ///
  /// - Parameter time: what a liar claims the time to be; honest devices claim the true one.
  @discardableResult
  package mutating func write(
    _ device: Int, _ deed: Deed, _ claim: Claim = .everything, at time: Int? = nil
  ) -> Int {
    switch deed {
    case .found: own(device, by: device == 0 ? 0 : 1_000 + device)
    case .join(_, let person), .recover(let person, _, _): own(device, by: person)
    case .admit(_, let newcomer, let person): own(newcomer, by: person)
    default: break
    }
    var claims = claimed(device, claim)
    claims[device] = nil
    let sequence = logs[device]?.count ?? 0
    let id = acts.count
    let act = Act(
      id: id, device: device, sequence: sequence, deed: deed, claims: claims,
      time: liars.contains(device) ? time ?? now : now)
    acts.append(act)
    logs[device, default: []].append(id)
    known[id] =
      liars.contains(device)
      ? Self.union(collective, received[device] ?? [:]) : (received[device] ?? [:])
    received[device, default: [:]][device] = sequence + 1
    if liars.contains(device) { collective[device] = sequence + 1 }
    return id
  }

  /// `to` receives everything that `from` has.
  ///
  /// A lying `from` gives only what it received itself, and its own log.
  package mutating func sync(_ from: Int, _ to: Int) {
    receive(received[from] ?? [:], to)
  }

  package mutating func meet(_ one: Int, _ other: Int) {
    sync(one, other)
    sync(other, one)
  }

  /// `to` receives one act with all its causes.
  package mutating func deliver(_ id: Int, to device: Int) {
    receive(past(of: id), device)
  }

  /// Everybody receives everything that anybody wrote.
  package mutating func syncAll(_ devices: [Int]) {
    for one in devices { for other in devices { sync(one, other) } }
    for one in devices { for other in devices { sync(one, other) } }
  }

  /// The act, and all that it claims, directly and by what it cites.
  package func past(of id: Int) -> [Int: Int] {
    let act = acts[id]
    var counts = act.claims
    counts[act.device] = act.sequence + 1
    return closure(counts)
  }

  /// The counts with everything that the counted acts claim.
  package func closure(_ counts: [Int: Int]) -> [Int: Int] {
    var result = counts
    var todo = counts.keys.sorted().map { ($0, 0) }
    while let (device, from) = todo.popLast() {
      let log = logs[device] ?? []
      let end = min(result[device] ?? 0, log.count)
      guard from < end else { continue }
      for place in from..<end {
        for (other, count) in acts[log[place]].claims where (result[other] ?? 0) < count {
          todo.append((other, result[other] ?? 0))
          result[other] = count
        }
      }
    }
    return result
  }

  private mutating func receive(_ counts: [Int: Int], _ device: Int) {
    let all = closure(Self.union(received[device] ?? [:], counts))
    received[device] = all
    if liars.contains(device) { collective = Self.union(collective, all) }
  }

  private func claimed(_ device: Int, _ claim: Claim) -> [Int: Int] {
    let before = logs[device]?.last.map { acts[$0].claims } ?? [:]
    switch claim {
    case .everything: return received[device] ?? [:]
    case .asOf(let id): return Self.union(before, past(of: id))
    case .nothingNew: return before
    case .exactly(let counts): return counts
    }
  }

  static func union(_ one: [Int: Int], _ other: [Int: Int]) -> [Int: Int] {
    one.merging(other) { max($0, $1) }
  }
}

extension World {
  /// A founder, and what the plans need again and again.
  package static func founded(liars: Set<Int> = []) -> World {
    var world = World(liars: liars)
    world.write(0, .found)
    return world
  }

  /// Issues a self-approving link and returns its number.
  package mutating func link(
    by host: Int, _ role: Role, uses: Int = 1, forPerson: Int? = nil, approval: Bool = false,
    expires: Int = .max
  ) -> Int {
    let number = newInvite()
    write(
      host,
      .invite(
        id: number, role: role, forPerson: forPerson, uses: uses, needsApproval: approval,
        expires: expires))
    return number
  }

  /// `device` joins by the link with all that `host` knows, and `host` confirms it.
  package mutating func enter(
    _ device: Int, as person: Int, by number: Int, host: Int, confirm: Bool = true
  ) {
    sync(host, device)
    write(device, .join(invite: number, person: person))
    sync(device, host)
    if confirm { write(host, .confirm(device: device)) }
    sync(host, device)
  }

  /// The whole way in by a fresh single-use link.
  package mutating func welcome(
    _ device: Int, as person: Int, _ role: Role, host: Int, forPerson: Int? = nil
  ) {
    let number = link(by: host, role, forPerson: forPerson)
    enter(device, as: person, by: number, host: host)
  }

  /// The act that issued the link.
  package func issue(of number: Int) -> Int {
    for act in acts {
      if case .invite(let id, _, _, _, _, _) = act.deed, id == number { return act.id }
    }
    return 0
  }
}
