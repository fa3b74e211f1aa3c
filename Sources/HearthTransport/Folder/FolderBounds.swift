/// The bounds on everything a shared folder can put before a node, each with a reason.
///
/// A value instead of constants only so that a test can reach each bound with few files.
package struct FolderBounds: Sendable {
  /// The largest file that is read or stored, in bytes.
  ///
  /// A sealed segment holds at most 1 MiB; header, signature and padding fit in 64 KiB. A larger
  /// file is refused by its size, before a byte of it is read.
  package var maximumFileBytes = 1024 * 1024 + 64 * 1024
  /// The most segment names kept of one directory; the smallest in sorted order are kept.
  ///
  /// Sorted means an author's oldest first, which is what has to be applied first, so that what
  /// is kept is useful. The same names are kept on every listing, so that nothing flickers.
  package var maximumNamesPerDirectory = 200_000
  /// The most names kept of one listing, over all directories: some 72 MB.
  ///
  /// Beyond it every directory is cut to the same length, so that one author's flood cannot push
  /// out another's segments.
  package var maximumNames = 1_000_000
  /// The most author directories of one zone that are looked into.
  package var maximumDirectories = 4_000
  /// The most files of one listing that are remembered under another name than their exact one.
  package var maximumCopies = 200_000
  /// The most entries read of one directory, rubbish included: a bound on time, not on memory.
  package var maximumEntries = 2_000_000
  /// The most problems of one listing that are told one by one.
  package var maximumProblems = 200
  /// How old a temporary file must be before it counts as left behind, in seconds.
  package var temporaryLifetimeSeconds: Int64 = 24 * 60 * 60

  package init() {}

  /// The bounds in use.
  package static let standard = FolderBounds()
}
