/// Whether a record exists: who wrote it last, and what its deleters had seen.
///
/// The record is deleted while everything that was written is in some deleter's past. An edit
/// concurrent with a deletion therefore brings the record back with its fields intact, and writing
/// it again after a deletion just works.
package struct Life: Equatable, Sendable {
  /// For each author its last change that wrote the record.
  package private(set) var writes: Frontier
  /// Everything that the deleters had seen; empty if nobody deleted.
  package private(set) var deletes: Frontier

  package init(writes: Frontier = Frontier(), deletes: Frontier = Frontier()) {
    self.writes = writes
    self.deletes = deletes
  }

  /// Whether the record is deleted (or was never written).
  package var isDeleted: Bool {
    if Mutant.deleteWins.isActive, !deletes.isEmpty { return true }
    return writes.isEmpty || (!deletes.isEmpty && deletes.covers(writes))
  }

  /// Notes a write; one that follows a deletion in the same change brings the record back.
  package mutating func write(_ dot: Dot) {
    if !deletes.isEmpty { deletes.withdraw(dot) }
    writes.advance(dot.author, to: dot.sequence)
  }

  /// Notes a deletion by an author with this past.
  ///
  /// The whole past is kept, not only its part about this record: which of the record's writes are
  /// in it would depend on what has arrived here, and replicas would differ.
  package mutating func delete(_ dot: Dot, past: Frontier) {
    Probe.deleteConcurrentWithWrite.hit(if: !past.covers(writes))
    deletes = deletes.joined(with: Mutant.deletesUnseen.isActive ? past.joined(with: writes) : past)
    deletes.advance(dot.author, to: dot.sequence)
  }

  /// Merges two copies: commutative, associative, idempotent.
  package func joined(with other: Life) -> Life {
    Life(writes: writes.joined(with: other.writes), deletes: deletes.joined(with: other.deletes))
  }
}
