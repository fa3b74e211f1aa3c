import Foundation
import Synchronization
import Testing

@testable import Hearth

/// A clock whose waits end when a test says so.
private final class ManualPause: Sendable {
  private let waiting = Mutex<[CheckedContinuation<Void, any Error>]>([])
  private let (durations, report) = AsyncStream.makeStream(of: Duration.self)

  /// The waits as they begin.
  var waits: AsyncStream<Duration> { durations }

  var timing: SyncTiming {
    SyncTiming(pause: { try await self.pause($0) }, random: { 1 })
  }

  private func pause(_ duration: Duration) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        waiting.withLock { $0.append(continuation) }
        report.yield(duration)
        if Task.isCancelled { end(throwing: CancellationError()) }
      }
    } onCancel: {
      end(throwing: CancellationError())
    }
  }

  /// Ends the present waits.
  func ring() { end(throwing: nil) }

  private func end(throwing error: (any Error)?) {
    let ended = waiting.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
    for wait in ended {
      if let error { wait.resume(throwing: error) } else { wait.resume() }
    }
  }
}

@Suite("Continuous sync")
struct LiveSyncTests {
  @Test("What one writes arrives at the other, without a call of either", .timeLimit(.minutes(20)))
  func watching() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let live = nodes.map { $0.startSync() }
    for sync in live { _ = await sync.states.first { $0 == .idle } }
    let item = try await zones[0].insert(Item(name: "Milk"))
    for try await items in zones[1].observe(Item.all) where items.map(\.id) == [item.id] { break }
    try await zones[1].update(item.id) { $0.quantity += 2 }
    for try await items in zones[0].observe(Item.all) where items.first?.quantity == 2 { break }
    for sync in live { await sync.stop() }
    #expect(live.allSatisfy { $0.state == nil && $0.lastResult != nil })
    // The node stays open.
    #expect(try await zones[0].count(Item.all) == 1)
  }

  @Test(
    "It waits longer after each failure, and goes on when others are back",
    .timeLimit(.minutes(20)))
  func offline() async throws {
    let shopping = try Shopping()
    let (nodes, zones) = try await shopping.pair()
    let away = shopping.home("away")
    try FileManager.default.moveItem(atPath: shopping.folder, toPath: away)
    let clock = ManualPause()
    let live = nodes[0].startSync(timing: clock.timing)
    var waits = clock.waits.makeAsyncIterator()
    let first = await waits.next()
    #expect(first == SyncPace.first)
    guard case .offline(let until) = live.state else {
      Issue.record("it is not offline: \(String(describing: live.state))")
      return
    }
    #expect(until.timeIntervalSinceNow < 60)
    #expect(live.lastResult?.isOffline == true)
    clock.ring()
    let second = await waits.next()
    #expect((second ?? .zero) >= SyncPace.first * 2)
    try FileManager.default.moveItem(atPath: away, toPath: shopping.folder)
    let item = try await zones[0].insert(Item(name: "Milk"))
    clock.ring()
    #expect(await live.states.first { $0 == .idle } == .idle)
    await live.stop()
    try await nodes[1].sync()
    #expect(try await zones[1].get(item.id)?.name == "Milk")
  }

  @Test("It ends with its node, and its states end with it", .timeLimit(.minutes(20)))
  func closing() async throws {
    let shopping = try Shopping()
    let (nodes, _) = try await shopping.pair()
    let live = nodes[0].startSync()
    var seen = live.states.makeAsyncIterator()
    while let state = await seen.next(), state != .idle {}
    try await nodes[0].close()
    while await seen.next() != nil {}
    #expect(live.state == nil)
    #expect(await live.states.first { _ in true } == nil)
  }

  @Test(
    "It ends when it is stopped while it waits, and when nobody holds it any more",
    .timeLimit(.minutes(20)))
  func stopping() async throws {
    let shopping = try Shopping()
    let (nodes, _) = try await shopping.pair()
    let away = shopping.home("away")
    try FileManager.default.moveItem(atPath: shopping.folder, toPath: away)
    let clock = ManualPause()
    let live = nodes[0].startSync(timing: clock.timing)
    var waits = clock.waits.makeAsyncIterator()
    _ = await waits.next()
    await live.stop()
    #expect(live.state == nil)
    let board = nodes[1].startSync(timing: clock.timing).board
    for await _ in board.states() {}
    #expect(board.state == nil)
  }

  @Test("Waits double up to a bound, with a random part of at most half")
  func pace() {
    var (least, most) = (SyncPace(), SyncPace())
    var last = Duration.zero
    for _ in 0..<20 {
      let (short, long) = (least.failed(random: 0), most.failed(random: 1))
      #expect(short * 2 == long && long >= last && long <= SyncPace.longest)
      last = long
    }
    #expect(last == SyncPace.longest)
    most.succeeded()
    #expect(most.failed(random: 7) == SyncPace.first)
    #expect(most.failed(random: -1) == SyncPace.first)
  }
}
