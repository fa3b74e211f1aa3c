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

  /// The consequence of a sync that reached others or did not.
  static func words(_ report: SyncReport) -> String {
    if report.transports.isEmpty {
      return
        "nobody else can receive this yet: `hearth transport add folder PATH`, then `hearth sync`"
    }
    if report.hasReachedAll {
      return "next: nothing; the others receive it with their next `hearth sync`"
    }
    return report.transports.allSatisfy { $0.failure == nil }
      ? "next: not everything was taken: see the warning, then `hearth sync`; until then others "
        + "may not receive it, and it has no effect for them"
      : "next: `hearth sync` when the others can be reached again; until then nobody else has "
        + "received it, and it has no effect for them"
  }
}
