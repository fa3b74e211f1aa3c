import HearthCRDT
import HearthSync
import HearthTransport

/// The stages of a sync: exchanges with all transports at the same time, and what is due beside
/// them.
struct SyncStages: NodeWork {
  let core: NodeCore
  let node: Node

  /// Exchanges what is new with every transport.
  ///
  /// Local work goes on meanwhile. All transports are exchanged with at the same time: one that
  /// fails or does not answer is reported, and delays no other. Answers to requests to join are
  /// looked for first and given last.
  ///
  /// - Parameter check: how many of the folders' files are read again, to see whether they are
  ///   still whole; damaged ones are put right.
  func run(checking check: FileCheck) async throws -> SyncReport {
    var report = SyncReport()
    var isWhole = false
    // Whatever ends the round, what came before it is reported. A transport whose exchange was
    // cancelled does not say what it brought.
    defer {
      core.transferListener?(nil)
      core.lastReport = report
      if report.received > 0 || !isWhole { announce() }
    }
    let people = PeopleNotices(core: core).activeMemberships()
    try await JoinRequests(core: core).settle()
    try await PrivateEnrolment(core: core).settle()
    try privateDatabase.found()
    try ProgressReports(core: core).sendHeartbeats()
    try RecoveryBundles(core: core).keepUp()
    try await AttachmentUse(core: core).beginAnew()
    let round = try await exchangeWithAll(try transports.list(), check, &report)
    // Whoever has just added a device may lose this one before the next round.
    var isMore = try RecoveryBundles(core: core).shareLocation()
    if round.isComplete,
      try await JoinApproval(core: core).closeSettledInvitations(
        over: transports.list().filter { report.hasAnswered($0.path) }, except: round.unread)
    {
      isMore = true
    }
    if isMore { try await exchangeAgain(after: round, &report) }
    if round.isComplete { try await AttachmentUse(core: core).keepUp() }
    try transportFailures.keep(of: report)
    try transportSuccesses.keep(of: report)
    // A transport that has failed is not waited for again; it is given these at the next sync.
    let answering = try transports.list().filter { report.hasAnswered($0.path) }
    try await LeaveNotices(core: core).publish(over: answering)
    try await JoinAnswers(core: core).publish(over: answering)
    try await JoinAnswers(core: core).publishRemovalNotices(over: answering)
    try privateDatabase.revokeLost { try recovery.state() == .set }
    try RecoveryNotices(engine: engine).noticeRecoveries(nowMilliseconds: now())
    try PeopleNotices(core: core).notice(since: people)
    try await RecoveryBundles(core: core).removeFormer(after: report)
    isWhole = true
    return report
  }

  /// What came of one step with one transport.
  private enum Step: Sendable {
    /// It was read, and nothing was given.
    case read(TransportSetting, TransportReport, holdsBack: Bool)
    /// Taken from and given to.
    case exchanged(TransportSetting, TransportReport, holdsBack: Bool)
    /// The transport's fault; no other has to wait for it.
    case failed(TransportSetting, String, holdsBack: Bool)
    /// Those that answer have waited long enough for the others.
    case waitedLongEnough
  }

  /// How long those transports that have answered wait for the others before they are given to.
  private static let graceMilliseconds = 500
  /// How long a transport that fails or refuses holds back what a stale view would decide wrongly:
  /// 7 days.
  ///
  /// One that is gone for good would else keep every link open, and all keys in use.
  private static let patienceMilliseconds: UInt64 = 7 * 24 * 60 * 60 * 1_000

  /// Exchanges with all transports at the same time.
  ///
  /// Every transport is read before anything is decided: an older copy on one transport must not
  /// exclude a person who joins over another. If one transport keeps the others waiting, the sync
  /// uploads to the others, and again when the slow one has answered: its data goes out over them
  /// in the same sync.
  ///
  /// - Returns: the round, at its end.
  private func exchangeWithAll(
    _ settings: [TransportSetting], _ check: FileCheck, _ report: inout SyncReport
  ) async throws -> SyncRound {
    var round = SyncRound(settings)
    defer { report.transports = round.reports }
    let node = node
    try await replicas.whileWaiting {
      try await withThrowingTaskGroup(of: Step.self) { group in
        func start(_ steps: [SyncRound.Start]) {
          for step in steps {
            group.addTask {
              try await node.looking {
                try await SyncStages(core: $0, node: node).run(step, check)
              }
            }
          }
        }
        start(round.begin())
        if settings.count > 1 {
          group.addTask {
            try? await Task.sleep(for: .milliseconds(SyncStages.graceMilliseconds))
            return .waitedLongEnough
          }
        }
        while !round.isDone, let step = try await group.next() {
          switch step {
          case .read(let setting, let read, let holdsBack):
            start(round.read(setting, read, holdsBack: holdsBack))
          case .exchanged(let setting, let given, let holdsBack):
            start(round.exchanged(setting, given, holdsBack: holdsBack))
          case .failed(let setting, let fault, let holdsBack):
            start(round.failed(setting, fault, holdsBack: holdsBack))
          case .waitedLongEnough: start(round.stopWaiting())
          }
        }
        group.cancelAll()
      }
    }
    return round
  }

  /// Exchanges once more with the transports that did not fail: what this round has written goes
  /// out with it.
  private func exchangeAgain(after round: SyncRound, _ report: inout SyncReport) async throws {
    for place in report.transports.indices where report.transports[place].failure == nil {
      let setting = report.transports[place].setting
      report.transports[place].add(
        try await replicas.exchange(
          over: connections.transport(setting), named: setting,
          transports.groups(over: setting),
          isComplete: round.isComplete, unread: round.unread))
    }
  }

  /// Runs one step; what is the transport's own fault is reported and thrown no further.
  private func run(_ step: SyncRound.Start, _ check: FileCheck) async throws -> Step {
    let setting = step.setting
    let node = node
    do {
      return try await node.workingPatiently {
        try await SyncStages(core: $0, node: node).perform(step, check)
      }
    } catch let error as TransportError {
      return .failed(setting, "\(error)", holdsBack: try holdsBack(setting))
    } catch let error as SyncError where error.code != .corrupt {
      return .failed(setting, "\(error)", holdsBack: true)
    }
  }

  /// Reads a transport or exchanges with it, while it is this call's turn.
  private func perform(_ step: SyncRound.Start, _ check: FileCheck) async throws -> Step {
    let setting = step.setting
    let transport = try connections.transport(setting.path)
    try await connections.admit(over: transport)
    switch step {
    case .read:
      let report = try await replicas.take(
        from: transport, named: setting.path, transports.groups(over: setting))
      return .read(setting, report, holdsBack: try holdsBack(setting))
    case .exchange(_, let isComplete, let unread):
      var report = try await replicas.exchange(
        over: transport, named: setting.path, transports.groups(over: setting),
        checking: check, isComplete: isComplete, unread: unread, holdsBack: holdsBack(setting))
      try transportRollbacks.notice(report)
      if report.failure == nil {
        try await RecoveryBundles(core: core).give(to: transport, checking: check, &report)
        try await InvitationBundles(core: core).give(
          to: transport, at: setting, checking: check, &report)
        for problem in try await connections.renewAccess(over: transport) {
          report.note(problem, isFirst: true)
        }
      }
      return .exchanged(setting, report, holdsBack: try holdsBack(setting))
    }
  }

  /// Whether a transport that fails or refuses holds back what a stale view would decide wrongly:
  /// it has worked within a week.
  private func holdsBack(_ setting: TransportSetting) throws -> Bool {
    let since = try transportFailures.last(of: setting)?.milliseconds ?? now()
    return since + SyncStages.patienceMilliseconds > now()
  }
}

extension Node {
  /// Exchanges what is new with every transport.
  ///
  /// Local work goes on meanwhile. All transports are exchanged with at the same time: one that
  /// fails or does not answer is reported, and delays no other.
  ///
  /// - Parameter check: how many of the folders' files are read again, to see whether they are
  ///   still whole; damaged ones are put right.
  package nonisolated func sync(checking check: FileCheck = .some) async throws -> SyncReport {
    try await alone { try await SyncStages(core: $0, node: self).run(checking: check) }
  }
}
