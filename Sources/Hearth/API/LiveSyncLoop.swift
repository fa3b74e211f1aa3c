import Foundation
import HearthCrypto
import HearthSync

/// The time and randomness of a continuous sync, which tests replace.
struct SyncTiming: Sendable {
  /// Waits for a time; it throws when the task is cancelled.
  let pause: @Sendable (Duration) async throws -> Void
  /// Draws a number from 0 to 1.
  let random: @Sendable () -> Double

  /// The system's clock and randomness.
  static let standard = SyncTiming(
    pause: { try await Task.sleep(for: $0) },
    random: {
      let bytes = RandomBytes.make(2).map(Int.init)
      return Double(bytes[0] << 8 | bytes[1]) / 65_535
    })
}

/// The loop of a continuous sync.
struct LiveSyncLoop {
  let node: Node
  let timing: SyncTiming
  let board: SyncBoard

  /// What follows an exchange.
  private enum Next {
    /// Another one at once.
    case again
    /// A wait for news; at most for a time, if there is one.
    case wait(atMost: Duration?)
    /// A wait for others to be back, at most for a time.
    case waitOffline(atMost: Duration)
  }

  /// Runs until the task is cancelled or the node is closed.
  func run() async {
    await node.reportTransfers { [board] progress in
      if let progress { board.show(progress) }
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        // These end when the node is closed.
        for await _ in await node.news() {}
      }
      group.addTask { await exchange() }
      await group.next()
      group.cancelAll()
    }
    board.end()
  }

  private func exchange() async {
    var pace = SyncPace()
    var rounds: NewsRounds?
    while !Task.isCancelled {
      board.show(.syncing(nil))
      var next = Next.again
      do {
        var present = try await begin(rounds)
        defer { rounds = present }
        next = try await round(&present, &pace)
      } catch {
        let failure = HearthError(translating: error)
        guard failure.code != .closed, !Task.isCancelled else { return }
        let delay = pace.failed(random: timing.random())
        board.show(.failed(failure, until: await moment(after: delay)))
        // A change of this node that caused the round is still new: it may not cause the next one.
        next = .waitOffline(atMost: delay)
      }
      await wait(next, rounds?.watch)
    }
  }

  /// The watch of the last round, or a new one before the first.
  private func begin(_ rounds: NewsRounds?) async throws -> NewsRounds {
    if let rounds { return rounds }
    return try NewsRounds(try await RoundEnd(of: node).source)
  }

  /// Exchanges once.
  private func round(_ rounds: inout NewsRounds, _ pace: inout SyncPace) async throws -> Next {
    let result = try await SyncResult(ofSyncing: node)
    // Cancellation may show as transports that did not answer.
    try Task.checkCancellation()
    board.keep(result)
    rounds.watch.noteDatabase()
    let isMoreDue = try rounds.isMoreDue(after: try await RoundEnd(of: node))
    guard !result.isOffline else {
      let delay = pace.failed(random: timing.random())
      board.show(.offline(until: await moment(after: delay)))
      return .waitOffline(atMost: delay)
    }
    // Those that failed are tried again in time, though others answered.
    let isWhole = result.transports.allSatisfy { $0.failure == nil }
    if isWhole { pace.succeeded() }
    guard !isMoreDue else { return .again }
    let delay = isWhole ? nil : pace.failed(random: timing.random())
    board.show(.idle)
    return .wait(atMost: delay)
  }

  private func wait(_ next: Next, _ watch: NewsWatch?) async {
    switch next {
    case .again: return
    case .wait(let delay): await wait(for: watch, isOffline: false, atMost: delay)
    case .waitOffline(let delay): await wait(for: watch, isOffline: true, atMost: delay)
    }
  }

  private func wait(for watch: NewsWatch?, isOffline: Bool, atMost delay: Duration?) async {
    guard let watch else {
      if let delay { try? await timing.pause(delay) }
      return
    }
    let pause = timing.pause
    let alarm = delay.map { delay in
      Task {
        guard (try? await pause(delay)) != nil else { return }
        watch.ring()
      }
    }
    await withTaskCancellationHandler {
      _ = await watch.wait(isOffline: isOffline)
    } onCancel: {
      watch.stop()
    }
    alarm?.cancel()
  }

  private func moment(after delay: Duration) async -> Date {
    let milliseconds =
      delay.components.seconds * 1_000
      + delay.components.attoseconds / 1_000_000_000_000_000
    return Date(milliseconds: await node.nowMilliseconds() + UInt64(max(0, milliseconds)))
  }
}
