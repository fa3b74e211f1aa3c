import HearthMembership

/// The membership of a view's group, folded on first use.
final class GroupMemory {
  var membership: Membership?
}
