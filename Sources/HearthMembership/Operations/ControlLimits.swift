/// The limits of the parts of a control operation.
package enum ControlLimits {
  /// The longest name of a person, device or zone, in bytes.
  package static let maximumNameBytes = 256
  /// The most zones of a group, wraps of one grant, and entries of one cut.
  package static let maximumItems = 1_024
  /// The most previous epochs in one grant, also the most whose keys it contains.
  package static let maximumPrevious = 16
  /// The longest sealed key, in bytes.
  package static let maximumSealedBytes = 256
  /// The longest segment in a fork proof, in bytes: two of them fit one value.
  package static let maximumEvidenceBytes = 240 * 1_024
  /// The most parts of one published segment of a control zone: the number for the longest segment.
  package static let maximumParts = 5
}
