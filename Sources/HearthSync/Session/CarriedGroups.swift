import HearthCRDT

/// The groups that one transport carries: all groups of a node, or some of them.
///
/// One household may use one transport, another household another one, and a third both. The node
/// neither looks for other groups there nor publishes them there.
package enum CarriedGroups: Equatable, Sendable {
  /// Every group, including those that the node joins later.
  case everything
  /// These groups and no others.
  case only(Set<GroupID>)

  /// Whether the transport carries a group, in constant time.
  package func contains(_ group: GroupID) -> Bool {
    switch self {
    case .everything: true
    case .only(let groups): groups.contains(group)
    }
  }
}
