import HearthCRDT

/// A change whose author cannot have seen what it cites, so its author's log ends before it.
package struct FalseClaim: Equatable, Sendable {
  /// What is wrong with a citation.
  package enum Kind: Equatable, Sendable {
    /// The cited change has another content here: it was made up, or its author has two histories.
    case content
    /// Something that the cited log had seen is missing in what the author says to have seen.
    case past
    /// The snapshot that the zone began from says so: what is cited lies below it.
    case summedUp
  }

  /// Who wrote the change.
  package let author: Author
  /// The change's number.
  package let sequence: UInt64
  /// What is wrong.
  package let kind: Kind
  /// The change that is cited wrongly, or that the author must have seen.
  package let cited: Dot
  /// Whether it is one of the control zone.
  package let isControl: Bool

  package init(author: Author, sequence: UInt64, kind: Kind, cited: Dot, isControl: Bool) {
    self.author = author
    self.sequence = sequence
    self.kind = kind
    self.cited = cited
    self.isControl = isControl
  }

  /// A claim that a snapshot tells of.
  init(summedUp change: Dot) {
    self.init(
      author: change.author, sequence: change.sequence, kind: .summedUp, cited: change,
      isControl: false)
  }

  /// Of each log the claim that ends it first.
  static func earliest(
    _ one: [Author: FalseClaim], _ other: [Author: FalseClaim]
  ) -> [Author: FalseClaim] {
    one.merging(other) { $0.sequence <= $1.sequence ? $0 : $1 }
  }
}
