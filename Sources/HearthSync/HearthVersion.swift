/// The version of Hearth's programs.
package enum HearthVersion {
  /// As both programs print it.
  package static let text = "0.1.0"
}
