import Foundation
import HearthCRDT
import HearthStore
import HearthSync

/// A household that was asked to let this node in, and has not answered yet.
package struct PendingJoin: Codable, Equatable, Sendable {
  package let groupID: String
  package let groupName: String
  package let inviterName: String
  package let roleName: String
  /// The folder or relay over which the household is asked.
  package let folder: String
  package let askedMilliseconds: UInt64
  /// Thirty digits that both sides see, to know that the request is this device's.
  package let number: String
  let secret: String
  let capsule: Data
  var slot: Int
  var request: Data
  /// Who reported that the invitation was closed; nil while it is open, as far as is known.
  package var closedBy: String?
  /// Whose device this one becomes by it; nil where it stays its person's.
  var personID: String?
  /// Whether it is the person's private database that was asked for.
  package var isPrivate: Bool?
  /// The digest of the answer that was taken; nil while there is none.
  var taken: String?
  /// What the request says, as an answer names it; nil where an earlier version asked.
  var requestHash: Data?
  /// The report about an answer that was refused, as it is not proven or of another application;
  /// nil while there is none.
  package var unproven: String?
  /// Until when somebody can be let in by the invitation; nil where an earlier version asked.
  package var expiresMilliseconds: UInt64?

  /// Whether the time of the invitation is over, by a clock.
  package func isOver(at milliseconds: UInt64) -> Bool {
    expiresMilliseconds.map { $0 < milliseconds } ?? false
  }
}

/// A private database that this node was invited to and is not in yet.
package struct PendingPrivate: Codable, Equatable, Sendable {
  /// The name of the inviter.
  package let inviterName: String
  /// The folder or relay through which it is reached.
  package let place: String
  let secret: String
  let capsule: Data
  /// The data that must arrive first, in words.
  package var waitsFor: String?
  /// The reason why it cannot be joined, in words; nil while it still can.
  package var refusal: String?
}

/// What this node was invited to or asked to join, and is not in yet.
struct PendingEnrolments: NodeWork {
  let core: NodeCore

  private static let joinsFact = JSONFact.named("joins.pending", of: [PendingJoin].self)
  private static let privateFact = JSONFact.named("private.pending", of: PendingPrivate.self)

  /// The households that were asked to let this node in.
  func joins() throws -> [PendingJoin] {
    try allJoins().filter { $0.taken == nil }
  }

  /// The same, and before them what was answered.
  func allJoins() throws -> [PendingJoin] {
    try store.facts.value(of: PendingEnrolments.joinsFact) ?? []
  }

  /// Keeps the requests to join.
  func keep(_ joins: [PendingJoin]) throws {
    try store.transaction {
      try store.facts.set(PendingEnrolments.joinsFact, to: joins.isEmpty ? nil : joins)
    }
  }

  /// The private database that this node was invited to and is not in yet.
  func privateDatabase() throws -> PendingPrivate? {
    try store.facts.value(of: PendingEnrolments.privateFact)
  }

  /// Whether another private database is about to replace the one in use.
  func awaitsPrivateDatabase() throws -> Bool {
    try privateDatabase() != nil || joins().contains { $0.isPrivate == true }
  }

  /// Keeps the private database that this node was invited to.
  ///
  /// - Parameter secret: the invitation that was settled; nothing is kept if another process has
  ///   settled it meanwhile. Nil for a new one.
  func keep(_ pending: PendingPrivate?, replacing secret: String? = nil) throws {
    if let secret, try privateDatabase()?.secret != secret { return }
    try store.transaction { try store.facts.set(PendingEnrolments.privateFact, to: pending) }
  }
}

extension NodeWork {
  /// What this node was invited to or asked to join, and is not in yet.
  var pending: PendingEnrolments { PendingEnrolments(core: core) }
}
