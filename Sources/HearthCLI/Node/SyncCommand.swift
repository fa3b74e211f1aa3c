import ArgumentParser
import Dispatch
import Foundation
import Glibc
import Hearth
import HearthCRDT
import HearthSync
import Synchronization

/// Syncs with every transport.
struct SyncCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync", abstract: "Exchange new changes with the others.",
    discussion: """
      With --watch the command runs until it is interrupted, and syncs whenever a shared folder or
      this node changes, or a relay reports news. Other commands can use the node in between.

      Each sync reads a few files of a shared folder again, to check that they are intact. \
      --check reads all. Damaged files are repaired if this device has their content.
      """)

  @Flag(help: "Keep syncing whenever something changes.")
  var watch = false

  @Flag(help: "Read every file of the shared folders again and repair damaged ones.")
  var check = false

  @OptionGroup var options: CommonOptions

  func validate() throws {
    if watch, check { throw ValidationError("--check is for one sync: leave --watch out") }
  }

  func run() async throws {
    if watch { return try await Watching(options: options).run() }
    let node = try await options.open()
    let (report, news) = try await PeopleNews.sync(node, checking: check ? .all : .some)
    // The places of catalogues are strangers', and may take their time.
    if !options.json {
      for transport in report.transports where transport.failure == nil {
        Output.print(SyncText.line(transport))
        if check { for line in SyncText.mended(transport) { Output.print(line) } }
      }
      for line in news.lines { Output.print(line) }
    }
    let catalogues = await SyncText.refresh(node)
    try await node.close()
    if options.json {
      try Output.json(SyncText.Document(report, catalogues: catalogues.refreshed))
    } else {
      for line in catalogues.news { Output.print(line) }
    }
    for remark in news.remarks + catalogues.warnings { Output.note(remark) }
    // A node may have no household to sync and still follow catalogues.
    guard !report.transports.isEmpty || !catalogues.refreshed.isEmpty else {
      throw CommandFailure(
        .partial, "there is no transport, so nothing was exchanged", hint: StrandedText.howToAdd)
    }
    try SyncText.check(report, isQuiet: options.json, isWhole: check)
  }
}

/// The loop of `sync --watch`.
private struct Watching {
  let options: CommonOptions

  /// The result of a round.
  private struct Round {
    let end: RoundEnd
    let report: SyncReport
    let news: PeopleNews
  }

  private struct Event: Encodable {
    let schema = 1
    let at: String
    let report: SyncText.Document
  }

  private static let pauseAfterLockMilliseconds = 1_000

  func run() async throws {
    let stop = StopSignals()
    var rounds = try NewsRounds(try await source())
    stop.onStop { [watch = rounds.watch] in watch.stop() }
    var lastWords = ""
    var away: Set<String> = []
    var lastRemarks: [String] = []
    var catalogues = CatalogueLook(isQuiet: options.json)
    Output.note("watching; interrupt to stop")
    while !stop.isStopped {
      do {
        let round = try await round(&catalogues)
        rounds.watch.noteDatabase()
        tell(round.report, &lastWords)
        tellReturns(round.report, &away)
        tell(round.news, &lastRemarks)
        try StandardStream.requireWritten()
        if try rounds.isMoreDue(after: round.end) {
          stop.onStop { [watch = rounds.watch] in watch.stop() }
          continue
        }
      } catch let error where ExitStatus.of(error) == .locked {
        try await Task.sleep(for: .milliseconds(Watching.pauseAfterLockMilliseconds))
        continue
      }
      guard await rounds.watch.wait() else { break }
    }
    await catalogues.end()
    Output.note("stopped")
  }

  /// Opens the node, syncs and closes it, so that other commands can run in between.
  private func round(_ catalogues: inout CatalogueLook) async throws -> Round {
    let node = try await options.open()
    let (report, news) = try await PeopleNews.sync(node)
    let end = try await RoundEnd(of: node)
    if !catalogues.begin(with: node, now: Node.wallClock()) { try await node.close() }
    return Round(end: end, report: report, news: news)
  }

  private func source() async throws -> NewsSource {
    let node = try await options.open()
    let source = try await node.newsSource()
    try await node.close()
    return source
  }

  /// Reports news about people; a repeated remark is printed once.
  private func tell(_ news: PeopleNews, _ lastRemarks: inout [String]) {
    if !options.json { for line in news.lines { Output.print(line) } }
    for remark in news.remarks where !lastRemarks.contains(remark) { Output.note(remark) }
    lastRemarks = news.remarks
  }

  /// Reports the transports that can be reached again.
  private func tellReturns(_ report: SyncReport, _ away: inout Set<String>) {
    for transport in report.transports where away.contains(transport.setting) {
      guard transport.failure == nil else { continue }
      Output.note("\(transport.setting): can be reached again")
    }
    away = Set(report.transports.filter { $0.failure != nil }.map(\.setting))
  }

  /// Reports changes; a persistent problem is printed once.
  private func tell(_ report: SyncReport, _ lastWords: inout String) {
    let isAlone = report.transports.isEmpty
    let problems =
      isAlone
      ? "there is no transport yet: \(StrandedText.howToAdd)"
      : report.transports.flatMap { transport in
        [transport.failure ?? ""] + transport.problems.map { $0.place + $0.fault }
      }.joined(separator: "\n")
    if problems != lastWords {
      if isAlone { Output.note(problems) }
      SyncText.tellProblems(report, isQuiet: true)
      let isRelayAway = report.transports.contains {
        $0.failure != nil && $0.setting.hasPrefix("hearth-relay:")
      }
      if isRelayAway {
        Output.note("still watching: the relay is tried again at least once a minute")
      }
      lastWords = problems
    }
    func isNews(_ report: TransportReport) -> Bool {
      report.received > 0 || report.published > 0 || report.restored > 0
    }
    guard report.transports.contains(where: isNews) else { return }
    let now = Node.wallClock()
    if options.json {
      try? Output.jsonLine(Event(at: MomentText.iso(now), report: SyncText.Document(report)))
      return
    }
    for transport in report.transports where isNews(transport) {
      Output.print("\(MomentText.iso(now)) \(SyncText.line(transport))")
    }
  }
}

/// The looks for newer catalogues beside the rounds of `sync --watch`.
///
/// No round waits for one: the places of catalogues are strangers', and may take their time. While
/// one goes on, no other begins.
private struct CatalogueLook {
  /// Whether a look goes on.
  private final class Progress: Sendable {
    let isGoingOn = Mutex(false)
  }

  /// Whether news are left out.
  let isQuiet: Bool
  /// How long catalogues count as fresh: they change rarely, and rounds are frequent.
  private static let freshMilliseconds: UInt64 = 3_600_000
  private var next: UInt64 = 0
  private var look: Task<Void, Never>?
  private let progress = Progress()

  init(isQuiet: Bool) { self.isQuiet = isQuiet }

  /// Begins a look if one is due and none goes on, with an open node that it closes.
  ///
  /// - Returns: whether it did.
  mutating func begin(with node: Node, now: UInt64) -> Bool {
    guard now >= next, !progress.isGoingOn.withLock({ $0 }) else { return false }
    next = now + CatalogueLook.freshMilliseconds
    progress.isGoingOn.withLock { $0 = true }
    look = Task { [isQuiet, progress] in
      defer { progress.isGoingOn.withLock { $0 = false } }
      let found = await SyncText.refresh(node)
      if !isQuiet { for line in found.news { Output.print(line) } }
      for line in found.warnings { Output.note(line) }
      do {
        try await node.close()
      } catch {
        Output.note("hearth: warning: \(Style.safe("\(error)"))")
      }
    }
    return true
  }

  /// Ends the look that goes on.
  mutating func end() async {
    look?.cancel()
    await look?.value
    look = nil
  }
}

/// SIGINT and SIGTERM as requests to stop: the first one stops in order, the second at once.
final class StopSignals {
  private let state = StopState()
  private let sources: [any DispatchSourceSignal]

  init() {
    let state = state
    sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        if state.stop() { _exit(128 + number) }
      }
      source.resume()
      return source
    }
  }

  var isStopped: Bool { state.isStopped }

  /// Sets an additional action for the request; it runs now if the request came already.
  func onStop(_ action: @escaping @Sendable () -> Void) {
    state.set(action)
  }
}

private final class StopState: Sendable {
  private struct Value {
    var isStopped = false
    var action: (@Sendable () -> Void)?
  }

  private let lock = Mutex(Value())

  var isStopped: Bool { lock.withLock { $0.isStopped } }

  /// - Returns: whether a request had come before.
  func stop() -> Bool {
    let (before, action) = lock.withLock { value in
      defer { value.isStopped = true }
      return (value.isStopped, value.action)
    }
    action?()
    return before
  }

  func set(_ action: @escaping @Sendable () -> Void) {
    let isStopped = lock.withLock { value in
      value.action = action
      return value.isStopped
    }
    if isStopped { action() }
  }
}
