import HearthCRDT

/// A change whose author cannot have seen what it cites; the author's log ends before it.
package struct FalseClaim: Equatable, Sendable {
  /// What is wrong with a citation.
  package enum Kind: Equatable, Sendable {
    /// The cited change has different content here: the author invented it, or the cited author
    /// forked.
    case content
    /// The cited log had seen something that the citing author does not claim to have seen.
    case past
    /// The zone's base snapshot reports the claim: the cited change lies below the snapshot.
    case summedUp
  }

  /// The author of the change.
  package let author: Author
  /// The change's sequence number.
  package let sequence: UInt64
  /// What is wrong with the citation.
  package let kind: Kind
  /// The change that is cited wrongly, or that the author must have seen.
  package let cited: Dot
  /// Whether the cited change belongs to the control zone.
  package let isControl: Bool

  package init(author: Author, sequence: UInt64, kind: Kind, cited: Dot, isControl: Bool) {
    self.author = author
    self.sequence = sequence
    self.kind = kind
    self.cited = cited
    self.isControl = isControl
  }

  /// Creates a claim that a snapshot reports.
  init(summedUp change: Dot) {
    self.init(
      author: change.author, sequence: change.sequence, kind: .summedUp, cited: change,
      isControl: false)
  }

  /// Merges claims and keeps, for each log, the claim that ends it first.
  static func earliest(
    _ one: [Author: FalseClaim], _ other: [Author: FalseClaim]
  ) -> [Author: FalseClaim] {
    one.merging(other) { $0.sequence <= $1.sequence ? $0 : $1 }
  }
}
