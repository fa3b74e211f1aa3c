import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// What a control log costs as devices receive it: with real keys, encoded, signed and stored.
///
/// Each step has a row of its own. The budget is for the decisions, since a device checks each
/// signature once and stores the result.
struct SignedLogBudgets {
  /// The devices of a household, the founder's first.
  let family: [Replica]
  let operations: Int
  let table: BudgetTable

  /// The operations of one change; the engine folds the log once for each change.
  private static let operationsOfChange = 100

  func run() throws {
    let founder = family[0]
    let control = try founder.engine.controlZone(of: founder.engine.zones[0].group)
    try grow(control.id, of: control.group)
    try receive(control.id)
    try resolve(control.id, of: control.group)
    try oneMore(control.id, of: control.group)
  }

  /// The founder and a member write in turn, while another member stops receiving halfway.
  private func grow(_ control: ZoneID, of group: GroupID) throws {
    let (founder, helper, late) = (family[0], family[1], family[2])
    let people = founder.engine.membership(of: group).people.filter { $0.role != .owner }
    let count = SignedLogBudgets.operationsOfChange
    var written = founder.engine.membership(of: group).items.count
    var isHalf = false
    while written + 2 * count <= operations {
      let roles = (0..<count).map { turn in
        ControlOperation.setRole(
          person: people[turn % people.count].id,
          role: turn / people.count % 2 == 0 ? .admin : .member, cut: Cut(entries: []))
      }
      _ = try ControlWriting.write(
        roles, group: group, in: &founder.engine, nowMilliseconds: founder.tick())
      _ = try helper.pull(from: founder, zone: control)
      let beats = [ControlOperation](repeating: .heartbeat([]), count: count)
      _ = try ControlWriting.write(
        beats, group: group, in: &helper.engine, nowMilliseconds: helper.tick())
      _ = try founder.pull(from: helper, zone: control)
      written += 2 * count
      if !isHalf, written >= operations / 2 {
        _ = try late.pull(from: founder, zone: control)
        isHalf = true
      }
    }
  }

  private func receive(_ control: ZoneID) throws {
    let (founder, reader) = (family[0], family[3])
    let segments = try founder.news(for: reader, zone: control)
    var clock = Stopwatch()
    try clock.measure { try reader.receive(segments, zone: control) }
    table.row(
      "receive a signed log in \(segments.count) segments: signatures, decryption, storing",
      milliseconds(clock.processor), budget: "none", isMet: true)
  }

  private func resolve(_ control: ZoneID, of group: GroupID) throws {
    let store = family[0].store
    let (items, decoding) = try Stopwatch.least(of: 3) {
      Membership.items(of: try store.records.events(of: ControlOperation.type, in: control))
    }
    table.row(
      "read and decode its \(items.count) operations", milliseconds(decoding), budget: "none",
      isMet: true)
    let (first, all) = Stopwatch.least(of: 3) {
      Membership(group: group, items: items, proofs: ProofBook())
    }
    let (_, decided) = Stopwatch.least(of: 3) {
      Membership(group: group, items: items, proofs: first.proofs)
    }
    table.row(
      "check the \(first.proofs.count) signatures and keys inside them, once",
      milliseconds(all - decided), budget: "none", isMet: true)
    table.row(
      "resolve them, these results known", milliseconds(decided), budget: "100 ms",
      isMet: decided < 0.1)
  }

  /// One more change that had seen half, beside one that had seen everything.
  private func oneMore(_ control: ZoneID, of group: GroupID) throws {
    let (founder, helper, late) = (family[0], family[1], family[2])
    var times: [Double] = []
    for author in [helper, late] {
      _ = try ControlWriting.write(
        [.heartbeat([])], group: group, in: &author.engine, nowMilliseconds: author.tick())
      let segments = try author.news(for: founder, zone: control)
      var clock = Stopwatch()
      try clock.measure { try founder.receive(segments, zone: control) }
      times.append(clock.processor)
    }
    table.row(
      "receive one more change that had seen half, beside one that had seen all",
      milliseconds(times[1]), floor: milliseconds(times[0]), ratio: times[1] / times[0],
      budget: "2x", isMet: times[1] <= 2 * times[0])
  }

  private func milliseconds(_ seconds: Double) -> String { number(seconds * 1e3, 1) + " ms" }
}
