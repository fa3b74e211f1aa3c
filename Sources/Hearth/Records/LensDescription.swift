/// A lens without the type of its field.
struct LensDescription<Owner>: Sendable {
  /// The property of the old field.
  let path: any PartialKeyPath<Owner> & Sendable
  /// Whether the old field says what the new ones do.
  let isKept: @Sendable (Owner) -> Bool
  /// Sets the old field from the new ones.
  let keep: @Sendable (inout Owner) -> Void
  /// Sets the new fields from the old one.
  let adopt: @Sendable (inout Owner) -> Void
}
