import Foundation
import HearthCRDT
import HearthStore
import HearthSync

/// What went wrong over a way when this node last synced.
package struct WayFailure: Codable, Equatable, Sendable {
  /// Why, in words that say what to do as well.
  package let text: String
  package let milliseconds: UInt64
}

// What went wrong over each way is kept, so that somebody who looks later hears of it: a folder
// that takes nothing can be listed as well as before.
extension Node {
  private static let failuresFact = "transports.failed"

  private func wayFailures() throws -> [String: WayFailure] {
    guard let encoded = try store.fact(Node.failuresFact) else { return [:] }
    return try JSONDecoder().decode([String: WayFailure].self, from: Data(encoded))
  }

  /// What went wrong over a way in the last round; nil if nothing did.
  package func lastFailure(of setting: TransportSetting) throws -> WayFailure? {
    try wayFailures()[setting.path]
  }

  /// Why the next round could give nothing to a folder, as far as can be seen without writing.
  package func folderFault(of setting: TransportSetting) -> String? {
    guard setting.kind == "folder" else { return nil }
    guard FileManager.default.isWritableFile(atPath: setting.path) else {
      return "nothing can be written into \(setting.path): it is read-only, or belongs to another "
        + "user"
    }
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: setting.path)
    guard let free = (attributes?[.systemFreeSize] as? NSNumber)?.uint64Value,
      free < Node.leastFolderBytes
    else { return nil }
    return "the disk of \(setting.path) is full: \(free / 1_024) KB are free"
  }

  /// With less room than this the next few changes do not fit.
  private static let leastFolderBytes: UInt64 = 64 * 1_024

  /// Keeps what went wrong in a round, and forgets what did before.
  func keepFailures(of report: SyncReport) throws {
    let before = try wayFailures()
    var failures: [String: WayFailure] = [:]
    for round in report.transports {
      guard let text = round.failure ?? round.refusals.first else { continue }
      // The same once more is not news: it tells since when it has been so.
      failures[round.setting] =
        before[round.setting].flatMap { $0.text == text ? $0 : nil }
        ?? WayFailure(text: text, milliseconds: now())
    }
    guard failures != before else { return }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let encoded = failures.isEmpty ? nil : Array(try encoder.encode(failures))
    try store.transaction { try store.setFact(Node.failuresFact, encoded) }
  }
}
