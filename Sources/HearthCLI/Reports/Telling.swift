import Hearth
import HearthSync

/// The exchange with others around an action on people.
enum Telling {
  /// Fetches others' changes before a decision that depends on them; being offline does not prevent
  /// the decision.
  static func first(_ node: Node) async throws {
    guard try await !node.transports.list().isEmpty else { return }
    _ = try await node.sync()
  }

  /// Syncs and closes the node, and returns the report; remarks go to standard error.
  static func others(_ node: Node) async throws -> SyncReport {
    let report = try await node.sync()
    try await node.close()
    return report
  }

  /// Whether everything of this node is where others find it.
  static func hasReached(_ report: SyncReport) -> Bool {
    !report.transports.isEmpty && report.transports.allSatisfy { $0.failure == nil }
  }

  /// The consequence of a sync that reached others or did not.
  static func words(_ report: SyncReport) -> String {
    if report.transports.isEmpty {
      return
        "nobody else can receive this yet: `hearth transport add folder PATH`, then `hearth sync`"
    }
    return report.transports.allSatisfy { $0.failure == nil }
      ? "next: nothing; the others receive it with their next `hearth sync`"
      : "next: `hearth sync` when the others can be reached again; until then nobody else has "
        + "received it, and it has no effect for them"
  }
}
