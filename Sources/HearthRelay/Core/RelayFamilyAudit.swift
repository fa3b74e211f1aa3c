import HearthCRDT
import HearthRelayProtocol

/// Checks which mailboxes belong to which, as they come.
package struct RelayFamilyAudit {
  private struct Kind: Hashable {
    let parent: Int64
    let child: RelayParent.Child
  }

  private var counts: [Kind: Int] = [:]
  /// What is wrong; one sentence a problem.
  package private(set) var problems: [String] = []

  package init() {}

  /// Takes a mailbox that belongs to another.
  ///
  /// - Parameters:
  ///   - child: As what it says that it belongs; nil where it says nothing.
  ///   - parent: The number of that other's row; nil where there is none.
  ///   - isGrandchild: Whether that other belongs to another itself.
  package mutating func take(_ name: Identifier, child: Int64?, parent: Int64?, isGrandchild: Bool)
  {
    func note(_ words: String) { problems.append("mailbox \(name.hex): \(words)") }
    let byte = child.flatMap { UInt8(exactly: $0) }
    guard let child = byte.flatMap({ RelayParent.Child(rawValue: $0) }) else {
      return note("it belongs to another as nothing that there is")
    }
    guard let parent else { return note("it belongs to a mailbox that is not there") }
    guard !isGrandchild else { return note("it belongs to one that belongs to another itself") }
    let kind = Kind(parent: parent, child: child)
    counts[kind, default: 0] += 1
    let most = RelayRegistrar.most(of: child)
    if counts[kind] == most + 1 { note("more than \(most) belong to one as this does") }
  }
}
