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
    let people = peopleOutlines()
    try settleJoins()
    try settlePrivate()
    try foundPrivate()
    try tellProgress()
    try keepRecovery()
    for setting in try transports() {
      do {
        let transport = try transport(setting.path)
        try admit(over: transport)
        var round = try engine.exchange(
          over: transport, named: setting.path, carrying: groups(over: setting),
          anchorFile: anchorFile, checking: check, nowMilliseconds: now())
        report.transports.append(round)
        try noticeSetBack(round)
        if round.failure == nil {
          try giveCapsule(to: transport, checking: check, &round)
          try giveInvitations(to: transport, checking: check, &round)
          for problem in try renewAccess(over: transport) { round.note(problem) }
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
}
