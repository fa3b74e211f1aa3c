import HearthCRDT

/// Which groups go over one transport: all that a node is in, or some of them alone.
///
/// A household may go by one way, another household by another, and a third by both: what a
/// transport does not carry is neither looked for there nor given to it.
package enum CarriedGroups: Equatable, Sendable {
  /// Every group, also those that the node comes to be in later.
  case everything
  /// These groups and no others.
  case only(Set<GroupID>)

  /// Whether a group goes over the transport, in constant time.
  package func contains(_ group: GroupID) -> Bool {
    switch self {
    case .everything: true
    case .only(let groups): groups.contains(group)
    }
  }
}
