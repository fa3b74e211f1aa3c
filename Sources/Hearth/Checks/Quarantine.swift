import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// The changes of removed devices that count for nothing unless a member adopts them.
package struct Quarantine: Sendable {
  let node: Node

  /// Returns the quarantined changes of a group, whose devices were removed.
  package func list(in group: GroupID) async throws -> [QuarantinedChanges] {
    try await node.looking { core in
      try core.store.read { try VoidChanges(engine: core.engine).quarantined(in: group) }
    }
  }

  /// Returns the quarantined changes of a removed device, as far as this device can open them.
  package func changes(of quarantined: QuarantinedChanges) async throws -> [Change] {
    try await node.looking { core in
      try core.store.read { try VoidChanges(engine: core.engine).changes(of: quarantined) }
    }
  }

  /// Writes the quarantined changes of a removed device again as own changes.
  package func adopt(_ changes: QuarantinedChanges, in group: GroupID) async throws {
    try await node.working { core in
      try Adoption.adopt(changes, in: group, by: &core.engine, nowMilliseconds: core.now())
      core.announce()
    }
  }
}

extension Node {
  /// The changes of removed devices.
  package nonisolated var quarantine: Quarantine { Quarantine(node: self) }
}
