import HearthCRDT
import HearthSync
import HearthTransport

extension Node {
  /// Exchanges what is new with every transport.
  ///
  /// A transport that fails is reported and harms no other. Answers to requests to join are looked
  /// for first and given last.
  package func sync() throws -> SyncReport {
    var report = SyncReport()
    // Whatever ends the round, what came before it is told.
    defer {
      lastReport = report
      if report.received > 0 { announce() }
    }
    try settleJoins()
    try tellProgress()
    for setting in try transports() {
      do {
        report.transports.append(
          try engine.exchange(
            over: folderTransport(setting.path), named: setting.path, anchorFile: anchorFile,
            nowMilliseconds: now()))
      } catch let error as SyncError where error.code != .corrupt {
        report.transports.append(TransportReport(setting: setting.path, failure: "\(error)"))
      }
    }
    try sayFarewell()
    try publishAnswers()
    return report
  }
}
