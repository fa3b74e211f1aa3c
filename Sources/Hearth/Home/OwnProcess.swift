import HearthCrypto

/// The process of this code.
package enum OwnProcess {
  /// Keeps the process's memory, which contains keys, out of core dumps and away from other
  /// programs of the same user.
  ///
  /// A program calls it first; a library leaves the process of its host as it is.
  package static func hideMemory() throws {
    try ProcessMemory.hide()
  }
}
