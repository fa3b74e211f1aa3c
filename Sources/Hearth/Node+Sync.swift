import HearthCRDT
import HearthSync
import HearthTransport

extension Node {
  /// Exchanges what is new with every transport.
  ///
  /// A transport that fails is reported and harms no other.
  package func sync() throws -> SyncReport {
    var report = SyncReport()
    for setting in try transports() {
      report.transports.append(
        try engine.exchange(
          over: folderTransport(setting.path), named: setting.path, anchorFile: anchorFile,
          nowMilliseconds: now()))
    }
    lastReport = report
    if report.received > 0 { announce() }
    return report
  }
}
