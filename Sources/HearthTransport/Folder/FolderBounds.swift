/// The bounds on everything that a shared folder can present to a node, each with a reason.
///
/// The bounds are a value and not constants only so that a test can reach each bound with few
/// files.
package struct FolderBounds: Sendable {
  /// The largest file that is read or stored, in bytes.
  ///
  /// A sealed segment holds at most 1 MiB. Header, signature and padding fit in 64 KiB. A larger
  /// file is refused by its size, before a byte of it is read.
  package var maximumFileBytes = 1024 * 1024 + 64 * 1024
  /// The most segment names to keep of one directory.
  ///
  /// The first in sorted order are kept.
  ///
  /// An author's oldest segments sort first. They have to be applied first, so the kept names are
  /// useful. Every listing keeps the same names, so results are stable.
  package var maximumNamesPerDirectory = 200_000
  /// The most names to keep of one listing, over all directories: some 72 MB.
  ///
  /// Above this bound every directory is cut to the same length, so that one author's flood cannot
  /// push out another's segments.
  package var maximumNames = 1_000_000
  /// The most author directories of one zone to read beside those of logs that the zone has.
  package var maximumDirectories = 4_000
  /// The most files of one listing to remember under inexact names.
  package var maximumCopies = 200_000
  /// The most entries to read of one directory, foreign files included.
  ///
  /// This bounds time, not memory.
  package var maximumEntries = 2_000_000
  /// The most problems of one listing to report individually.
  package var maximumProblems = 200
  /// How old a temporary file must be before it counts as abandoned, in seconds.
  package var temporaryLifetimeSeconds: Int64 = 24 * 60 * 60

  package init() {}

  /// The bounds in use.
  package static let standard = FolderBounds()
}
