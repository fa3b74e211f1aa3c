import Foundation
import Hearth
import Synchronization

/// A list of the benchmark's application.
struct BenchList: Record {
  var id = Key<BenchList>()
  var name = ""
  var shop: Int64 = 0

  static let schema = Schema<BenchList>("list", 1) {
    Field(1, \.name)
    Field(2, \.shop, .indexed)
  }
}

/// An item of the benchmark's application.
struct BenchItem: Record {
  var id = Key<BenchItem>()
  var list: Key<BenchList>?
  var name = ""
  var quantity: Int64 = 0
  var isBought = false

  static let schema = Schema<BenchItem>("item", 2) {
    Reference(1, \.list)
    Field(2, \.name)
    Field(3, \.quantity)
    Field(4, \.isBought)
    Index(\.list, \.name)
  }
}

/// What the programs of others write meanwhile.
struct BenchNote: Record {
  var id = Key<BenchNote>()
  var text = ""

  static let schema = Schema<BenchNote>("remark", 3) { Field(1, \.text) }
}

/// The table of the library's own promises: the public interface beside GRDB on the same file.
///
/// Times are wall times, as an application sees them; of several runs the least counts.
struct LibraryBudgets {
  let records: Int
  let runs: Int
  let root: String
  private let table = BudgetTable()
  private static let lists = 100
  static let app = AppSchema(
    "org.hearth.benchmark", [BenchList.self, BenchItem.self, BenchNote.self])

  func run() async throws {
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: root) }
    let home = "\(root)/node"
    let node = try await HearthNode.open(
      at: home, LibraryBudgets.app, as: .new(person: "Anna"))
    let zone = try await node.shared.zone(named: "Home", create: true)
    table.begin()
    let (lists, items) = try await fill(zone)
    let floor = try LibraryFloor(home: home)
    try await readings(zone, lists, items, floor)
    try await writings(zone, try PlainFile("\(root)/plain.db"))
    try await observers(zone)
    try await node.close()
    try memory(home)
    try table.end()
  }

  // MARK: Writing

  /// Writes all records in transactions of 1,000.
  private func fill(_ zone: HearthZone) async throws -> ([Key<BenchList>], [Key<BenchItem>]) {
    let lists = try await zone.write { tx in
      try (0..<LibraryBudgets.lists).map { number in
        try tx.insert(BenchList(name: "List \(number)", shop: Int64(number % 10))).id
      }
    }
    var items: [Key<BenchItem>] = []
    let start = Stopwatch.wallSeconds()
    for first in stride(from: 0, to: records, by: 1_000) {
      items += try await zone.write { [records] tx in
        try (first..<min(first + 1_000, records)).map { number in
          let item = BenchItem(
            list: lists[number % lists.count], name: "Item \(number * 7_919 % records)",
            quantity: Int64(number % 13), isBought: number % 3 == 0)
          return try tx.insert(item).id
        }
      }
    }
    let rate = Double(records) / (Stopwatch.wallSeconds() - start)
    table.row(
      "insert in transactions of 1,000", "\(Int(rate)) records/s", budget: "40,000/s",
      isMet: rate >= 40_000)
    return (lists, items)
  }

  private func writings(_ zone: HearthZone, _ plain: PlainFile) async throws {
    var (ours, floor) = (Double.infinity, Double.infinity)
    for _ in 0..<runs {
      floor = min(floor, try plain.writes(100))
      let start = Stopwatch.wallSeconds()
      for number in 0..<100 {
        _ = try await zone.insert(BenchItem(name: "Single \(number)", quantity: 1))
      }
      ours = min(ours, (Stopwatch.wallSeconds() - start) / 100)
    }
    table.row(
      "a single durable insert", milliseconds(ours), floor: milliseconds(floor),
      ratio: floor / ours, budget: "0.6 of the rate", isMet: floor / ours >= 0.6)
  }

  // MARK: Reading

  private func readings(
    _ zone: HearthZone, _ lists: [Key<BenchList>], _ items: [Key<BenchItem>],
    _ floor: LibraryFloor
  ) async throws {
    let some = stride(from: 0, to: items.count, by: max(1, items.count / 1_000)).map { items[$0] }
    let byID =
      try await least {
        for key in some {
          guard try await zone.get(key) != nil else { throw BenchError("a record is missing") }
        }
      } / Double(some.count)
    table.row(
      "a record by id", milliseconds(byID), budget: "0.05 ms", isMet: byID <= 0.000_05)

    let list = lists[7]
    try await compare("the first 20 of a list, by an index", atMost: 1.5, times: 200) {
      try await zone.fetch(BenchItem.where(\.list == list).order(\.name).limit(20)).count
    } floor: {
      try floor.first(20, of: list.stored).count
    }
    let ofShop = BenchItem.where(.refers(\.list, to: BenchList.where(\.shop == 3)))
    try await compare("a sum over a join", atMost: 1.5, times: 20) {
      Int(try await zone.read { try $0.sum(of: \.quantity, ofShop) })
    } floor: {
      try floor.sum(ofShop: 3)
    }
    try await compare("all records", atMost: 2, times: 1) {
      try await zone.fetch(BenchItem.all).count
    } floor: {
      try floor.all().count
    }
  }

  private func compare(
    _ what: String, atMost limit: Double, times: Int, _ ours: () async throws -> Int,
    floor: () throws -> Int
  ) async throws {
    guard try await ours() == floor() else { throw BenchError("\(what): the results differ") }
    var (own, other) = (Double.infinity, Double.infinity)
    for _ in 0..<runs {
      var start = Stopwatch.wallSeconds()
      for _ in 0..<times { _ = try await ours() }
      own = min(own, (Stopwatch.wallSeconds() - start) / Double(times))
      start = Stopwatch.wallSeconds()
      for _ in 0..<times { _ = try floor() }
      other = min(other, (Stopwatch.wallSeconds() - start) / Double(times))
    }
    table.row(
      what, milliseconds(own), floor: milliseconds(other), ratio: own / other,
      budget: "\(number(limit, 1))x", isMet: own / other <= limit)
  }

  private func least(_ body: () async throws -> Void) async rethrows -> Double {
    var least = Double.infinity
    for _ in 0..<runs {
      let start = Stopwatch.wallSeconds()
      try await body()
      least = min(least, Stopwatch.wallSeconds() - start)
    }
    return least
  }

  // MARK: Observing

  /// How long a write takes beside five observers of its type, and whether one of another type
  /// wakes.
  private func observers(_ zone: HearthZone) async throws {
    let woken = WakeCounter()
    let others = WakeCounter()
    let watched = BenchItem.where(\.quantity == 12).order(\.name).limit(50)
    var tasks = (0..<5).map { _ in
      Task { [zone, watched] in for try await _ in zone.observe(watched) { woken.add() } }
    }
    tasks.append(Task { for try await _ in zone.observe(BenchNote.all) { others.add() } })
    let start = Stopwatch.wallSeconds()
    while woken.count < 5 || others.count < 1 {
      guard Stopwatch.wallSeconds() - start < 10 else { throw BenchError("an observer is silent") }
      try await Task.sleep(for: .milliseconds(5))
    }
    var times: [Double] = []
    for number in 0..<max(20, runs * 10) {
      let start = Stopwatch.wallSeconds()
      _ = try await zone.insert(BenchItem(name: "A \(number)", quantity: 12))
      times.append(Stopwatch.wallSeconds() - start)
    }
    try await Task.sleep(for: .milliseconds(100))
    for task in tasks { task.cancel() }
    let median = times.sorted()[times.count / 2]
    table.row(
      "a write of one record beside 5 observers, median", milliseconds(median), budget: "2 ms",
      isMet: median <= 0.002)
    table.row(
      "wakes of an observer of another type", "\(others.count - 1)", budget: "0",
      isMet: others.count == 1)
  }

  // MARK: Memory

  /// The resident memory of a process that opened the node, beyond one that did not.
  private func memory(_ home: String) throws {
    let bare = try resident(LibraryBudgets.bareCommand, home)
    let opened = try resident(LibraryBudgets.openCommand, home)
    let more = Double(opened - bare) / 1_048_576
    table.row(
      "memory of an open node", "\(number(more, 1)) MiB",
      floor: "\(number(Double(bare) / 1_048_576, 1)) MiB", budget: "20 MiB more",
      isMet: more <= 20)
  }

  static let bareCommand = "library-bare"
  static let openCommand = "library-open"

  private func resident(_ command: String, _ home: String) throws -> Int {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [command, home]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let said = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let text = String(decoding: said, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    guard process.terminationStatus == 0, let bytes = Int(text) else {
      throw BenchError("`\(command)` failed")
    }
    return bytes
  }

  /// The part of the child process: prints its resident memory.
  static func child(_ command: String, _ home: String) async throws {
    guard command == openCommand else { return print(ResourceUse.residentBytes()) }
    let node = try await HearthNode.open(at: home, app)
    print(ResourceUse.residentBytes())
    try await node.close()
  }

  private func milliseconds(_ seconds: Double) -> String {
    "\(number(seconds * 1e3, seconds < 0.001 ? 4 : 2)) ms"
  }
}

/// Counts what tasks report.
private final class WakeCounter: Sendable {
  private let value = Atomic<Int>(0)

  var count: Int { value.load(ordering: .sequentiallyConsistent) }
  func add() { value.add(1, ordering: .sequentiallyConsistent) }
}
