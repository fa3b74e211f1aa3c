import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household
import Synchronization

/// The rows of waits beside a sync that takes 100,000 changes: commands of another process, and
/// writes of the same one.
struct BootstrapWaits {
  let program: String
  let root: String
  private static let transactions = 1_000
  private static let operationsPerTransaction = 100
  private static let chores = 300
  private static let leastSamples = 10

  func run() async throws {
    let folder = "\(root)/shared"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let anna = "\(root)/anna"
    _ = try output(["init", "--person", "Anna"], anna)
    _ = try output(["household", "create", "Home"], anna)
    _ = try output(["transport", "add", "folder", folder], anna)
    let guests = try ["Ben", "Cleo"].map { try join($0, folder, invitedBy: anna) }
    for home in [anna] + guests { _ = try output(["sync"], home) }
    var alone: [Double] = []
    for number in 0..<30 { alone += try commands(guests[0], "alone \(number)").map(\.1) }
    try await write(at: anna)
    _ = try output(["sync"], anna)
    try otherProcess(guests[0], floor: p99(alone))
    try await sameProcess(guests[1])
  }

  private func join(_ person: String, _ folder: String, invitedBy anna: String) throws -> String {
    let home = "\(root)/\(person.lowercased())"
    let link = try output(["invite"], anna).split(separator: "\n").last.map(String.init) ?? ""
    _ = try output(["init", "--person", person], home)
    _ = try output(["transport", "add", "folder", folder], home)
    _ = try output(["join", "-"], home, typing: link)
    return home
  }

  /// Writes the changes that the others are to take.
  private func write(at home: String) async throws {
    let (node, zone) = try await open(home)
    let chores = (0..<BootstrapWaits.chores).map { _ in Node.randomIdentifier() }
    for transaction in 0..<BootstrapWaits.transactions {
      try await node.write(to: zone) { _, _ in
        let operations = (0..<BootstrapWaits.operationsPerTransaction).map { number in
          let place = transaction * BootstrapWaits.operationsPerTransaction + number
          return HearthCRDT.Operation(
            RecordKey(type: HouseholdSchema.chore, id: chores[place % chores.count]),
            .assign(FieldID(.register, 1), .text("Title \(place)")))
        }
        return (operations, ())
      }
    }
    try await node.close()
  }

  private func otherProcess(_ home: String, floor: Double) throws {
    let sync = Process()
    sync.executableURL = URL(fileURLWithPath: program)
    sync.arguments = ["sync", "--home", home]
    sync.standardOutput = FileHandle.nullDevice
    sync.standardError = FileHandle.nullDevice
    let began = Stopwatch.wallSeconds()
    try sync.run()
    var samples: [String: [Double]] = [:]
    var turns = 0
    while sync.isRunning {
      for (name, seconds) in try commands(home, "beside \(turns)") {
        samples[name, default: []].append(seconds)
      }
      turns += 1
    }
    let whole = Stopwatch.wallSeconds() - began
    guard turns >= BootstrapWaits.leastSamples else {
      throw BenchError("the sync ended after \(turns) rounds of commands, too soon to say anything")
    }
    for (name, seconds) in samples.sorted(by: { $0.key < $1.key }) {
      let worst = p99(seconds)
      row(
        "`\(name)` beside a sync of 100,000 changes, p99 of \(seconds.count)",
        milliseconds(worst), floor: milliseconds(floor), ratio: worst / floor, budget: "80 ms",
        isMet: worst <= 0.080)
    }
    print("| that sync, beside the commands | \(number(whole, 1)) s | | | | |")
  }

  private func sameProcess(_ home: String) async throws {
    let (node, zone) = try await open(home)
    let ended = Flag()
    let sync = Task {
      defer { ended.raise() }
      return try await node.sync()
    }
    var times: [Double] = []
    while !ended.isRaised {
      let began = Stopwatch.wallSeconds()
      let text = "Write \(times.count)"
      try await node.write(to: zone) { _, _ in
        let key = RecordKey(type: HouseholdSchema.chore, id: Node.randomIdentifier())
        return ([HearthCRDT.Operation(key, .assign(FieldID(.register, 1), .text(text)))], ())
      }
      times.append(Stopwatch.wallSeconds() - began)
      try await Task.sleep(for: .milliseconds(1))
    }
    _ = try await sync.value
    try await node.close()
    let worst = p99(times)
    row(
      "write in the process of such a sync, p99 of \(times.count)", milliseconds(worst),
      budget: "10 ms", isMet: worst <= 0.010)
  }

  private func open(_ home: String) async throws -> (Node, ZoneID) {
    let node = try await Node.open(
      at: home,
      schema: NodeSchema(records: HouseholdSchema.all, projections: [HouseholdProjection()]))
    guard let zone = await node.dataZones().first(where: { $0.database == .shared })?.id else {
      throw BenchError("\(home) has no household")
    }
    return (node, zone)
  }

  private func commands(_ home: String, _ title: String) throws -> [(String, Double)] {
    try [["add", title], ["done", title], ["today"]].map { words in
      (words[0], try ChildRun(program, words + ["--home", home]).wall)
    }
  }

  private func output(
    _ arguments: [String], _ home: String, typing input: String? = nil
  ) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments + ["--home", home]
    let (reading, writing) = (Pipe(), Pipe())
    process.standardOutput = reading
    process.standardInput = writing
    process.standardError = FileHandle.nullDevice
    try process.run()
    if let input { try writing.fileHandleForWriting.write(contentsOf: Data((input + "\n").utf8)) }
    try writing.fileHandleForWriting.close()
    let text = reading.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw BenchError("`\(arguments.joined(separator: " "))` failed")
    }
    return String(decoding: text, as: UTF8.self)
  }

  private func p99(_ times: [Double]) -> Double {
    let sorted = times.sorted()
    return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
  }

  private func milliseconds(_ seconds: Double) -> String { number(seconds * 1e3, 1) + " ms" }

  /// Whether something has ended.
  private final class Flag: Sendable {
    private let value = Mutex(false)

    var isRaised: Bool { value.withLock { $0 } }

    func raise() { value.withLock { $0 = true } }
  }
}
