import Foundation
import HearthCRDT
import HearthStore
import HearthSync

/// The failure of a transport in this node's last sync.
package struct TransportFailure: Codable, Equatable, Sendable {
  /// The reason and the remedy, in words.
  package let text: String
  /// When the transport began to fail.
  package let milliseconds: UInt64
}

/// The failures of transports in the last sync, kept so that a later look shows them.
///
/// A folder that accepts no writes can still be listed.
struct TransportFailures: NodeWork {
  let core: NodeCore

  private var records: TransportRecords<TransportFailure> {
    TransportRecords(
      core: core, fact: JSONFact.named("transports.failed", of: [String: TransportFailure].self))
  }

  /// Returns the failure of a transport in the last round; nil if there was none.
  func last(of setting: TransportSetting) throws -> TransportFailure? {
    try records.all()[setting.path]
  }

  /// Returns the reason why a folder cannot accept the next round, as far as visible without
  /// writing.
  static func folderFault(of setting: TransportSetting) -> String? {
    guard setting.kind == .folder else { return nil }
    guard FileManager.default.isWritableFile(atPath: setting.path) else {
      return "\(setting.path) is not writable: it is read-only, or belongs to another user"
    }
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: setting.path)
    guard let free = (attributes?[.systemFreeSize] as? NSNumber)?.uint64Value,
      free < TransportFailures.leastFolderBytes
    else { return nil }
    return "the disk of \(setting.path) is full: \(free / 1_024) KB are free"
  }

  /// With less room than this, the next few changes do not fit.
  private static let leastFolderBytes: UInt64 = 64 * 1_024

  /// Keeps the failures of a round, and forgets earlier ones.
  func keep(of report: SyncReport) throws {
    let before = try records.all()
    var failures: [String: TransportFailure] = [:]
    for round in report.transports {
      guard let text = round.failure ?? round.refusals.first else { continue }
      // A repeated failure is not news: it keeps the time at which it began, whatever it is called.
      failures[round.setting] = TransportFailure(
        text: text, milliseconds: before[round.setting]?.milliseconds ?? now())
    }
    try records.replace(before, by: failures)
  }
}

extension NodeWork {
  /// The failures of transports in the last sync.
  var transportFailures: TransportFailures { TransportFailures(core: core) }
}
