import HearthCRDT
import HearthRelayProtocol

/// Checks which mailboxes are children of which, one mailbox at a time.
package struct RelayFamilyAudit {
  private struct Kind: Hashable {
    let parent: Int64
    let child: RelayParent.Child
  }

  private var counts: [Kind: Int] = [:]
  /// The problems found, one sentence each.
  package private(set) var problems: [String] = []

  package init() {}

  /// Checks a child mailbox.
  ///
  /// - Parameters:
  ///   - child: the stored kind of child; nil if there is none.
  ///   - parent: the number of the parent's row; nil if there is no parent.
  ///   - isGrandchild: whether the parent is a child itself.
  package mutating func take(_ name: Identifier, child: Int64?, parent: Int64?, isGrandchild: Bool)
  {
    func note(_ words: String) { problems.append("mailbox \(name.hex): \(words)") }
    let byte = child.flatMap { UInt8(exactly: $0) }
    guard let child = byte.flatMap({ RelayParent.Child(rawValue: $0) }) else {
      return note("it belongs to another mailbox as an unknown kind")
    }
    guard let parent else { return note("it belongs to a mailbox that does not exist") }
    guard !isGrandchild else { return note("its mailbox itself belongs to another one") }
    let kind = Kind(parent: parent, child: child)
    counts[kind, default: 0] += 1
    let most = RelayRegistrar.most(of: child)
    if counts[kind] == most + 1 { note("its mailbox has more than \(most) of this kind") }
  }
}
