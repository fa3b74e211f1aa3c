import HearthCRDT
import HearthMembership

/// The verified signatures of a group's control log, kept in the store so that a start of the
/// program need not verify them again.
///
/// They are a cache: whatever is missing is verified once more.
enum StoredProofs {
  /// The results of earlier runs of the program.
  static func read(of group: GroupID, from store: some Store) throws -> ProofBook {
    try store.facts.value(of: fact(of: group)) ?? ProofBook()
  }

  /// Stores results if there are new ones.
  static func keep(_ proofs: ProofBook, of group: GroupID, in store: some Store) throws {
    let known = try read(of: group, from: store).count
    guard proofs.count > known, known < ProofBook.maximumStored else { return }
    try store.transaction { try store.facts.set(fact(of: group), to: proofs) }
  }

  private static func fact(of group: GroupID) -> Fact<ProofBook> {
    Fact("proofs.\(group.hex)", encode: { $0.encoded }, decode: { try ProofBook(decoding: $0) })
      .asCache
  }
}
