import HearthCRDT

/// The effect of a change of records.
package enum Judgement: Equatable, Sendable {
  /// The change has effect, with the rights of this role.
  case counts(Role)
  /// The change has no effect anywhere.
  case void(VoidCause)

  /// The reason why a change has no effect.
  package enum VoidCause: String, Sendable {
    /// Its device did not belong to the group at the heads that the change cites.
    case notADevice
    /// Its device or person was removed, and the change is beyond the cut of the removal.
    case beyondCut
  }
}

/// The author of a change, and whether the person belonged to the group already when the device
/// came, by a link for a further device or by recovery words.
package typealias ChangeAuthor = (person: PersonID, isFurther: Bool)

/// A person's status in a device's past: the role, for a former member the last one, and whether
/// the person belonged to the group.
package typealias PastStanding = (role: Role, isPresent: Bool)

/// An operation that decides about changes.
package struct ChangeGround {
  /// Its place in the order of its fold.
  let place: Int
  package let dot: Dot
  package let cut: Cut?
}
