import HearthCRDT
import HearthMembership
import HearthSync

/// Requests to join: this node's elsewhere, and those of others here.
package struct Admissions: Sendable {
  let node: Node

  /// Returns the households that were asked to admit this node.
  package func requested() async throws -> [PendingJoin] {
    try await node.looking { try $0.pending.joins() }
  }

  /// Returns the requests to join a group that lie on the transports and that this device can read,
  /// in order of person's name.
  package func waiting(of group: GroupID) async throws -> [WaitingJoin] {
    try await node.alone { try await JoinApproval(core: $0).waiting(of: group) }
  }

  /// Returns the requests by invitations that are closed and can admit nobody any more.
  package func ended(of group: GroupID) async throws -> [JoinRequest] {
    try await node.alone { try await JoinApproval(core: $0).ended(of: group) }
  }

  /// Admits the person who asked, and stores the answer on every transport of the household.
  ///
  /// - Throws: `notAllowed` with the reason.
  package func approve(
    _ waiting: WaitingJoin, named groupName: String
  ) async throws -> SyncReport {
    try await node.alone { core in
      try JoinApproval(core: core).approve(waiting, named: groupName)
      return try await node.sync()
    }
  }

  /// Confirms a contested join.
  ///
  /// - Throws: `notFound`, `notAllowed`.
  package func confirm(_ entry: WaitingEntry, in group: GroupID) async throws -> SyncReport {
    try await node.alone { core in
      try EntranceUpkeep.confirm(entry.id, in: group, by: &core.engine, nowMilliseconds: core.now())
      core.announce()
      return try await node.sync()
    }
  }
}

extension Node {
  /// Requests to join: this node's elsewhere, and those of others here.
  package nonisolated var admissions: Admissions { Admissions(node: self) }
}
