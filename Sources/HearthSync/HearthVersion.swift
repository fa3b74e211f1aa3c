/// The version of Hearth's programs.
package enum HearthVersion {
  /// The version that both programs print.
  package static let text = "0.1.0"
}
