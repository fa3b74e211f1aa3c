/// A catalogue that a node follows or publishes itself, without its records.
package struct KeptCatalogue: Sendable, Equatable {
  /// The address from which the catalogue comes.
  package var address: CatalogueAddress
  /// The folder from which the catalogue comes, if any.
  package var folder: String?
  /// The version that is here; nil before the first arrived complete.
  package var head: PublicHead?
  /// The known end of the relay's log.
  package var cursor: RelayCursor?
  /// When that version was last confirmed as the newest, in milliseconds since 1970; 0 for never.
  package var checkedAt: UInt64 = 0
  /// The fault of the last attempt, in words; nil if there was none.
  package var problem: String?
  /// The greatest version that was ever here.
  ///
  /// It stays when a catalogue is followed again.
  package var greatest: PublicHead?

  package init(address: CatalogueAddress, folder: String? = nil) {
    self.address = address
    self.folder = folder
  }
}
