import HearthCRDT
import HearthSync
import HearthTransport

extension Node {
  /// Exchanges what is new with every transport.
  ///
  /// A transport that fails is reported and harms no other. Answers to requests to join are looked
  /// for first and given last.
  ///
  /// - Parameter check: how many of the folders' files are read again, to see whether they are
  ///   still whole; damaged ones are put right.
  package func sync(checking check: FileCheck = .some) throws -> SyncReport {
    var report = SyncReport()
    // Whatever ends the round, what came before it is told.
    defer {
      transferListener?(nil)
      lastReport = report
      if report.received > 0 { announce() }
    }
    let people = activeMemberships()
    try settleJoins()
    try settlePrivate()
    try foundPrivate()
    try tellProgress()
    try keepRecovery()
    let settings = try transports()
    let taken = try takeFromAll(settings)
    for setting in settings {
      do {
        let transport = try transport(setting.path)
        try admit(over: transport)
        var round = try engine.exchange(
          over: transport, named: setting.path, carrying: groups(over: setting),
          anchorFile: anchorFile, checking: check, isComplete: taken.isComplete,
          nowMilliseconds: now())
        if let before = taken.rounds[setting.path] { round.addTaken(before) }
        report.transports.append(round)
        try noticeSetBack(round)
        if round.failure == nil {
          try giveCapsule(to: transport, checking: check, &round)
          try giveInvitations(to: transport, checking: check, &round)
          for problem in try renewAccess(over: transport) { round.note(problem, isFirst: true) }
          report.transports[report.transports.count - 1] = round
        }
        transferListener?(nil)
      } catch let error as TransportError {
        report.fail(setting.path, "\(error)")
      } catch let error as SyncError where error.code != .corrupt {
        report.fail(setting.path, "\(error)")
      }
    }
    try handPlaceAtOnce(&report)
    try keepFailures(of: report)
    try sayFarewell()
    try publishAnswers()
    try publishFarewells()
    try cutOffLost()
    try engine.noticeRecoveries(nowMilliseconds: now())
    try noticePeople(since: people)
    return report
  }

  /// What was read on every transport before anything is given.
  private struct Taken {
    var rounds: [String: TransportReport] = [:]
    /// Whether no transport failed that has worked within a week.
    var isComplete = true
  }

  /// How long a transport that fails holds back what a stale view would decide wrongly: 7 days.
  private static let patienceMilliseconds: UInt64 = 7 * 24 * 60 * 60 * 1_000

  /// Reads every transport before anything is decided: who joins over one of them must not be shut
  /// out by what an older copy on another one says.
  ///
  /// With one transport its exchange reads first anyway.
  private func takeFromAll(_ settings: [TransportSetting]) throws -> Taken {
    var taken = Taken()
    guard settings.count > 1 else { return taken }
    for setting in settings {
      do {
        let transport = try transport(setting.path)
        try admit(over: transport)
        taken.rounds[setting.path] = try engine.take(
          from: transport, named: setting.path, carrying: groups(over: setting),
          anchorFile: anchorFile, nowMilliseconds: now())
      } catch is TransportError {
        let since = try lastFailure(of: setting)?.milliseconds ?? now()
        if since + Node.patienceMilliseconds > now() { taken.isComplete = false }
      } catch let error as SyncError where error.code != .corrupt {
        taken.isComplete = false
      }
    }
    return taken
  }
}
