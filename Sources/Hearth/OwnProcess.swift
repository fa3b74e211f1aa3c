import HearthCrypto

/// The process that this code runs in.
package enum OwnProcess {
  /// Keeps its memory, which holds keys, out of core dumps and away from other programs of the
  /// same user.
  ///
  /// A program calls it first; a library leaves the process of others as it is.
  package static func hideMemory() throws {
    try ProcessMemory.hide()
  }
}
