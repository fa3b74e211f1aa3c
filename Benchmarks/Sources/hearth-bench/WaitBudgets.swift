import Foundation
import Glibc
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Household

/// The table of waits: how long local work takes while syncs of the same node wait for relays that
/// accept and then say nothing, beside the same work alone.
struct WaitBudgets {
  let program: String
  let relayProgram: String
  let runs: Int
  let root: String
  private let table = BudgetTable()

  func run() async throws {
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: root) }
    let home = "\(root)/family"
    try await FamilyFolder.make(at: home)
    let relays = try (1...2).map { try StoppableRelay(relayProgram, data: "\(root)/relay-\($0)") }
    defer { for relay in relays { relay.end() } }
    for relay in relays { _ = try command(["transport", "add", "relay", relay.address], home) }
    _ = try command(["sync"], home)
    table.begin()
    let alone = try commands(home, as: "alone")
    let write = try await writes(home, beside: false)
    for relay in relays { relay.stop() }
    let sync = Hanging(program, ["sync", "--home", home])
    let beside = try commands(home, as: "beside")
    try sync.end()
    for ((line, seconds), (_, floor)) in zip(beside, alone) {
      table.row(
        "`\(line)` beside a sync that waits, p99", milliseconds(seconds),
        floor: milliseconds(floor), ratio: seconds / floor, budget: "80 ms",
        isMet: seconds <= 0.080)
    }
    let besideWrite = try await writes(home, beside: true)
    table.row(
      "write in the process of a sync that waits, p99", milliseconds(besideWrite),
      floor: milliseconds(write), ratio: besideWrite / write, budget: "10 ms",
      isMet: besideWrite <= 0.010)
    try table.end()
  }

  // MARK: Another process

  /// The 99th percentile of each command's wall time.
  private func commands(_ home: String, as part: String) throws -> KeyValuePairs<String, Double> {
    var times: (add: [Double], done: [Double], today: [Double]) = ([], [], [])
    for number in 0..<runs {
      let title = "\(part) \(number)"
      times.add.append(try command(["add", title], home))
      times.done.append(try command(["done", title], home))
      times.today.append(try command(["today"], home))
    }
    return ["add": p99(times.add), "done": p99(times.done), "today": p99(times.today)]
  }

  private func command(_ arguments: [String], _ home: String) throws -> Double {
    try ChildRun(program, arguments + ["--home", home]).wall
  }

  // MARK: The same process

  /// The 99th percentile of a write's wall time, alone or beside a sync.
  private func writes(_ home: String, beside isBeside: Bool) async throws -> Double {
    let node = try await Node.open(
      at: home,
      schema: NodeSchema(records: HouseholdSchema.all, projections: [HouseholdProjection()]))
    guard let zone = await node.dataZones().first(where: { $0.database == .shared })?.id else {
      throw BenchError("the family has no household")
    }
    let sync = isBeside ? Task { while !Task.isCancelled { _ = try await node.sync() } } : nil
    // The sync reaches its relays first.
    if isBeside { try await Task.sleep(for: .milliseconds(200)) }
    var times: [Double] = []
    for number in 0..<10 * runs {
      let began = Stopwatch.wallSeconds()
      try await node.write(to: zone) { _, _ in
        let id = Node.randomIdentifier()
        return (
          [
            HearthCRDT.Operation(
              RecordKey(type: HouseholdSchema.chore, id: id),
              .assign(FieldID(.register, 1), .text("Write \(number)")))
          ], ()
        )
      }
      times.append(Stopwatch.wallSeconds() - began)
    }
    sync?.cancel()
    _ = await sync?.result
    try await node.close()
    return p99(times)
  }

  private func p99(_ times: [Double]) -> Double {
    let sorted = times.sorted()
    return sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
  }

  private func milliseconds(_ seconds: Double) -> String { number(seconds * 1e3, 1) + " ms" }
}

/// A relay in a process of its own, which can be stopped as it is.
private final class StoppableRelay {
  let address: String
  private let process = Process()

  init(_ program: String, data: String) throws {
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = ["serve", "--listen", "127.0.0.1:0", "--data", data, "--health", "off"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    var text = ""
    while !text.contains("\n") {
      let data = output.fileHandleForReading.availableData
      guard !data.isEmpty else { throw BenchError("\(program) does not serve") }
      text += String(decoding: data, as: UTF8.self)
    }
    address = text.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  func stop() { kill(process.processIdentifier, SIGSTOP) }

  func end() {
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}

/// A command that is started again whenever it ends.
private final class Hanging {
  private let process = Process()

  init(_ program: String, _ arguments: [String]) {
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "while :; do \"$0\" \"$@\"; done", program] + arguments
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try? process.run()
  }

  func end() throws {
    guard process.isRunning else { throw BenchError("the sync ended too soon") }
    process.terminate()
    process.waitUntilExit()
  }
}
