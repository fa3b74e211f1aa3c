import HearthCRDT
import Testing

@testable import Hearth
@testable import HearthSync

/// The order in which one sync reads transports and gives to them.
@Suite("A sync over several transports")
struct SyncRoundTests {
  private let folder = TransportSetting(number: 1, kind: .folder, path: "/folder")
  private let first = TransportSetting(number: 2, kind: .relay, path: "first")
  private let second = TransportSetting(number: 3, kind: .relay, path: "second")

  private func report(_ setting: TransportSetting, received: Int = 0) -> TransportReport {
    var report = TransportReport(setting: setting.path)
    report.received = received
    return report
  }

  private func exchange(_ setting: TransportSetting, isComplete: Bool = true) -> SyncRound.Start {
    .exchange(setting, isComplete: isComplete)
  }

  @Test("without a transport there is nothing to do")
  func none() {
    var round = SyncRound([])
    #expect(round.begin().isEmpty)
    #expect(round.isDone)
  }

  @Test("a single transport is exchanged with at once")
  func single() {
    var round = SyncRound([folder])
    #expect(round.begin() == [exchange(folder)])
    #expect(!round.isDone)
    #expect(round.exchanged(folder, report(folder, received: 3)).isEmpty)
    #expect(round.isDone)
    #expect(round.reports.map(\.received) == [3])
  }

  @Test("nothing is decided before every transport was read")
  func readsAllFirst() {
    var round = SyncRound([folder, first, second])
    #expect(round.begin() == [.read(folder), .read(first), .read(second)])
    #expect(round.read(first, report(first)).isEmpty)
    #expect(round.read(folder, report(folder)).isEmpty)
    #expect(round.read(second, report(second)) == [folder, first, second].map { exchange($0) })
  }

  @Test("one that fails holds nobody up, and what a stale view could decide wrongly waits")
  func failure() {
    var round = SyncRound([folder, first])
    _ = round.begin()
    #expect(round.read(folder, report(folder)).isEmpty)
    #expect(
      round.failed(first, "it is away", holdsBack: true) == [exchange(folder, isComplete: false)])
    #expect(round.exchanged(folder, report(folder)).isEmpty)
    #expect(round.isDone)
    #expect(round.reports.map(\.failure) == [nil, "it is away"])
  }

  @Test("one that has been away for long holds nothing back")
  func longAway() {
    var round = SyncRound([folder, first])
    _ = round.begin()
    _ = round.read(folder, report(folder))
    #expect(round.failed(first, "it is away", holdsBack: false) == [exchange(folder)])
  }

  @Test("one that refuses a group's zone holds back what a stale view of that group could decide")
  func refusal() {
    let group = GroupID(high: 1, low: 2)
    var refusing = report(first)
    refusing.unread = [group]
    for holdsBack in [true, false] {
      var round = SyncRound([folder, first])
      _ = round.begin()
      #expect(round.read(first, refusing, holdsBack: holdsBack).isEmpty)
      let unread: Set<GroupID> = holdsBack ? [group] : []
      let expected = [folder, first].map {
        SyncRound.Start.exchange($0, isComplete: true, unread: unread)
      }
      #expect(round.read(folder, report(folder)) == expected)
      #expect(round.unread == unread)
    }
    // Where a single one refuses, its exchange tells of it.
    var round = SyncRound([first])
    _ = round.begin()
    #expect(round.exchanged(first, refusing).isEmpty)
    #expect(round.unread == [group])
  }

  @Test("one that does not answer in time is not waited for, and its news still go out")
  func late() {
    var round = SyncRound([folder, first])
    _ = round.begin()
    #expect(round.stopWaiting().isEmpty, "nobody was read")
    #expect(
      round.read(folder, report(folder)) == [exchange(folder, isComplete: false)],
      "it was read when the waiting was over")
    #expect(round.exchanged(folder, report(folder)).isEmpty)
    #expect(!round.isDone)
    // What was decided without the late one is decided again with it.
    #expect(round.read(first, report(first, received: 2)) == [exchange(folder), exchange(first)])
    #expect(round.exchanged(first, report(first)).isEmpty)
    #expect(round.exchanged(folder, report(folder)).isEmpty)
    #expect(round.isDone)
    #expect(round.reports.map(\.received) == [0, 2], "each was counted once")
  }

  @Test("what an exchange brings goes out over those that were given to before")
  func passesOn() {
    var round = SyncRound([folder, first])
    _ = round.begin()
    _ = round.read(folder, report(folder))
    _ = round.read(first, report(first))
    #expect(round.exchanged(folder, report(folder)).isEmpty)
    #expect(round.exchanged(first, report(first, received: 1)) == [exchange(folder)])
    #expect(round.exchanged(folder, report(folder)).isEmpty)
    #expect(round.isDone)
  }

  @Test("transports that bring something each time do not keep a sync from its end")
  func ends() {
    var round = SyncRound([folder, first])
    var starts = round.begin()
    var count = 0
    while !round.isDone {
      guard !starts.isEmpty, count < 100 else { break }
      count += 1
      let start = starts.removeFirst()
      switch start {
      case .read(let setting): starts += round.read(setting, report(setting, received: 1))
      case .exchange(let setting, _, _):
        starts += round.exchanged(setting, report(setting, received: 1))
      }
    }
    #expect(round.isDone)
    #expect(count == 2 + 3 * 2)
  }

  /// A step that was started, and what had been brought by then.
  private struct Running {
    let start: SyncRound.Start
    let known: Set<String>
  }

  /// What is looked at in every order of answers: one round, and what each transport was given.
  private struct Case {
    var round: SyncRound
    var running: [Running] = []
    var given: [String: Set<String>]
    var brought: Set<String> = []

    mutating func begin(_ starts: [SyncRound.Start]) {
      running += starts.map { Running(start: $0, known: brought) }
    }
  }

  /// Lets each running step of a case end next, well or badly, and so on to the end of all.
  private func explore(_ present: Case, _ end: (Case) -> Void) {
    if present.running.isEmpty { return end(present) }
    for index in present.running.indices {
      var next = present
      let step = next.running.remove(at: index)
      let (setting, place) = (step.start.setting, step.start.setting.path)
      var failing = next
      failing.given[place] = nil
      failing.begin(failing.round.failed(setting, "away", holdsBack: true))
      explore(failing, end)
      // Each brings something once, when it is asked for the first time.
      let isNew = next.brought.insert(place).inserted
      let report = report(setting, received: isNew ? 1 : 0)
      if case .exchange = step.start {
        next.given[place] = step.known.union([place])
        next.begin(next.round.exchanged(setting, report))
      } else {
        next.begin(next.round.read(setting, report))
      }
      explore(next, end)
    }
  }

  @Test(
    "whatever the order of the answers, each gets what the others brought",
    arguments: [false, true])
  func anyOrder(hasWaited: Bool) {
    var ends = 0
    let settings = [folder, first, second].prefix(hasWaited ? 2 : 3)
    var present = Case(
      round: SyncRound(Array(settings)),
      given: Dictionary(uniqueKeysWithValues: settings.map { ($0.path, []) }))
    present.begin(present.round.begin())
    if hasWaited { present.begin(present.round.stopWaiting()) }
    explore(present) { last in
      #expect(last.round.isDone, "the round waits for nobody")
      for place in last.given.keys.sorted() where last.given[place] != last.brought {
        Issue.record("\(place) has \(last.given[place] ?? []) of \(last.brought)")
      }
      ends += 1
    }
    #expect(ends > 50)
  }
}
