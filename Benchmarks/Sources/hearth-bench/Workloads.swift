import Foundation
import HearthCRDT
import HearthSync

/// The workloads that are measured side by side with other engines.
///
/// Each returns the keys that the reference worker of the same workload returns, so that lines
/// compare. Only the named spans are measured; making and reading operations is outside.
enum Workloads {
  static func run(_ name: String, _ parameters: Parameters) throws -> [String: Any] {
    let root = try parameters.string("dir")
    try? FileManager.default.removeItem(atPath: root)
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: root) }
    var result =
      switch name {
      case "w1": try writes(parameters, root)
      case "w2": try snapshot(parameters, root)
      case "w3": try incremental(parameters, root)
      case "w4": try star(parameters, root)
      case "w5": try awards(parameters, root)
      case "w6":
        try MemoryRun.measure(
          count: try parameters.int("n"), edits: try parameters.int("m"), root: root)
      default: ["unsupported": "not measured by this program"] as [String: Any]
      }
    guard result["unsupported"] == nil else { return result }
    result["version"] = "hearth"
    result["durability"] = "WAL, synchronous=EXTRA: fsync at every commit"
    result["encrypted"] = "end to end; sealed and signed segments"
    return result
  }

  private static func build(_ replica: Replica, _ actions: [Action], group: Int = 100) throws {
    for part in actions.groups(of: group) { try replica.write(part) }
  }

  private static func base(_ parameters: Parameters) throws -> [Action] {
    try OperationFile.read(try parameters.string("base")).map(\.action)
  }

  /// W1: creates, then edits, in transactions of `tx` operations.
  private static func writes(_ parameters: Parameters, _ root: String) throws -> [String: Any] {
    let actions = try base(parameters)
    let count = try parameters.int("n")
    let group = try parameters.int("tx")
    let replica = try Replica.family(1, in: root)[0]
    var creating = Stopwatch()
    var editing = Stopwatch()
    let creates = actions.prefix(count).groups(of: group)
    let edits = actions.dropFirst(count).groups(of: group)
    try creating.measure { for part in creates { try replica.write(part) } }
    try editing.measure { for part in edits { try replica.write(part) } }
    let seconds = creating.wall + editing.wall
    let processor = creating.processor + editing.processor
    let number = Double(actions.count)
    let disk = replica.diskBytes()
    return [
      "seconds": seconds, "ops_s": number / seconds, "cpu_s": processor,
      "creates_s": Double(count) / creating.wall,
      "edits_s": Double(actions.count - count) / editing.wall,
      "cpu_us_op": processor / number * 1e6, "bytes": disk, "bytes_op": Double(disk) / number,
    ]
  }

  /// W2: a snapshot of everything, and an empty replica started from it.
  private static func snapshot(_ parameters: Parameters, _ root: String) throws -> [String: Any] {
    let actions = try base(parameters)
    let family = try Replica.family(2, in: root)
    try build(family[0], actions)
    var exporting = Stopwatch()
    var importing = Stopwatch()
    let chunks = try exporting.measure {
      try SnapshotMaking.snapshot(of: family[0].zone, in: family[0].engine)
    }
    try importing.measure {
      try SnapshotLoading.bootstrap(
        family[1].zone, from: chunks, in: &family[1].engine, nowMilliseconds: family[1].tick())
    }
    let bytes = Array(chunks.joined())
    return [
      "seconds": exporting.wall + importing.wall, "export_s": exporting.wall,
      "import_s": importing.wall, "cpu_s": exporting.processor + importing.processor,
      "bytes": bytes.count, "zstd3_bytes": zstdCount(bytes), "equal": try areEqual(family),
      "ops_s": Double(actions.count) / importing.wall,
    ]
  }

  /// W3: what changed since, one way, then both ways twice with conflicts.
  private static func incremental(
    _ parameters: Parameters, _ root: String
  ) throws -> [String: Any] {
    let count = try parameters.int("n")
    let edits = try parameters.int("edits")
    let family = try Replica.family(2, in: root)
    let (first, second) = (family[0], family[1])
    try build(first, try base(parameters))
    _ = try second.bootstrap(from: first)
    _ = try Sealing.seal(first.zone, in: &first.engine)
    try build(
      first, try OperationFile.read(try parameters.string("oneway")).map(\.action))
    var oneWay = Stopwatch()
    let oneWayBytes = try oneWay.measure { try second.pull(from: first) }
    var result: [String: Any] = [
      "oneway_s": oneWay.wall, "oneway_cpu_s": oneWay.processor, "oneway_bytes": oneWayBytes,
    ]
    let file = try OperationFile.readByReplica(try parameters.string("both"), count: 2)
    let again = Generator.conflicting(among: count, edits, seed: 13)
    for (round, actions) in [(file[0], file[1]), (again.first, again.second)].enumerated() {
      try build(first, actions.0)
      try build(second, actions.1)
      var clock = Stopwatch()
      let bytes = try clock.measure {
        let there = try first.news(for: second, zone: first.zone)
        let back = try second.news(for: first, zone: first.zone)
        try second.receive(there, zone: second.zone)
        try first.receive(back, zone: first.zone)
        return (there + back).reduce(0) { $0 + $1.count }
      }
      if round == 0 {
        result.merge(
          [
            "seconds": clock.wall, "cpu_s": clock.processor, "bytes": bytes,
            "ops_s": Double(2 * edits) / clock.wall,
          ] as [String: Any]
        ) { $1 }
      } else {
        result.merge(
          ["again_s": clock.wall, "again_cpu_s": clock.processor, "again_bytes": bytes]
            as [String: Any]
        ) { $1 }
      }
    }
    result["equal"] = try areEqual(family)
    return result
  }

  /// W4: ten replicas edit apart, one collects and gives back.
  private static func star(_ parameters: Parameters, _ root: String) throws -> [String: Any] {
    let count = try parameters.int("replicas")
    let family = try Replica.family(count, in: root)
    let hub = family[0]
    try build(hub, try base(parameters))
    let chunks = try SnapshotMaking.snapshot(of: hub.zone, in: hub.engine)
    for replica in family.dropFirst() {
      try SnapshotLoading.bootstrap(
        replica.zone, from: chunks, in: &replica.engine, nowMilliseconds: replica.tick())
    }
    _ = try Sealing.seal(hub.zone, in: &hub.engine)
    // The file of operations takes the place of their number, under the same name.
    let files = try OperationFile.readByReplica(try parameters.string("edits"), count: count)
    let number = files.reduce(0) { $0 + $1.count }
    for (replica, actions) in zip(family, files) { try build(replica, actions, group: 1) }
    var clock = Stopwatch()
    let bytes = try clock.measure {
      var sum = 0
      for replica in family.dropFirst() { sum += try hub.pull(from: replica) }
      for replica in family.dropFirst() { sum += try replica.pull(from: hub) }
      return sum
    }
    return [
      "seconds": clock.wall, "cpu_s": clock.processor, "bytes": bytes,
      "equal": try areEqual(family), "ops_s": Double(number) / clock.wall,
    ]
  }

  /// W5: awards on ten replicas, collected on one, and the ten best of a week.
  private static func awards(_ parameters: Parameters, _ root: String) throws -> [String: Any] {
    let queries = try parameters.int("queries")
    // The file of operations takes the place of their number, under the same name.
    let files = try OperationFile.readByReplica(try parameters.string("awards"), count: 10)
    let number = files.reduce(0) { $0 + $1.count }
    let family = try Replica.family(10, in: root)
    let hub = family[0]
    var inserting = Stopwatch()
    var merging = Stopwatch()
    try inserting.measure {
      for (replica, actions) in zip(family, files) {
        for part in actions.groups(of: 100) { try replica.award(part) }
      }
    }
    let bytes = try merging.measure {
      try family.dropFirst().reduce(0) { $0 + (try hub.pull(from: $1)) }
    }
    var sums: [String: Int64] = [:]
    for case .award(let award) in files.joined() where award.week == 7 {
      sums[award.member, default: 0] += award.points
    }
    let best = sums.sorted { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }
      .prefix(10)
    let found = try hub.topTen(week: 7)
    let isRight = zip(best, found).allSatisfy { $0.key == $1.member && $0.value == $1.points }
    var spans: [Double] = []
    for week in [7] + Array(0..<queries) {
      var clock = Stopwatch()
      _ = try clock.measure { try hub.topTen(week: Int64(week)) }
      spans.append(clock.wall)
    }
    spans.sort()
    let seconds = inserting.wall + merging.wall
    return [
      "seconds": seconds, "cpu_s": inserting.processor + merging.processor,
      "insert_ops_s": Double(number) / inserting.wall, "merge_s": merging.wall, "bytes": bytes,
      "query_ms": spans[spans.count / 2] * 1e3,
      "equal": isRight && best.count == found.count, "ops_s": Double(number) / seconds,
    ]
  }
}
