/// Whether a record exists: its last writes, and the pasts of its deleters.
///
/// The record is deleted while every write is in some deleter's past. An edit concurrent with a
/// deletion therefore restores the record with its fields intact. A write after a deletion restores
/// it as well.
package struct Life: Equatable, Sendable {
  /// For each author, the last change that wrote the record.
  package private(set) var writes: Frontier
  /// The combined past of the deleters; empty if nobody deleted the record.
  package private(set) var deletes: Frontier

  package init(writes: Frontier = Frontier(), deletes: Frontier = Frontier()) {
    self.writes = writes
    self.deletes = deletes
  }

  /// Whether the record is deleted or was never written.
  package var isDeleted: Bool {
    if Mutant.deleteWins.isActive, !deletes.isEmpty { return true }
    return writes.isEmpty || (!deletes.isEmpty && deletes.covers(writes))
  }

  /// Records a write.
  ///
  /// A write that follows a deletion in the same change restores the record.
  package mutating func write(_ dot: Dot) {
    if !deletes.isEmpty { deletes.withdraw(dot) }
    writes.advance(dot.author, to: dot.sequence)
  }

  /// Records a deletion by an author with this past.
  ///
  /// The whole past is kept, not only its part about this record. The latter would depend on which
  /// writes have arrived at this replica, and replicas would differ.
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
