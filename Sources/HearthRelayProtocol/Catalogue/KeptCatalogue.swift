/// A catalogue that a node follows, or publishes itself, without its records.
package struct KeptCatalogue: Sendable, Equatable {
  /// Where it comes from: its address.
  package var address: CatalogueAddress
  /// The folder it comes from, where it comes from one.
  package var folder: String?
  /// The version that is here; nil before the first arrived whole.
  package var head: PublicHead?
  /// How far the relay's log is known.
  package var cursor: RelayCursor?
  /// When that version was last seen to be the newest, in milliseconds since 1970; 0 for never.
  package var checkedAt: UInt64 = 0
  /// What went wrong at the last try, in words; nil if nothing did.
  package var problem: String?
  /// The greatest version that was ever here: it stays when a catalogue is followed anew.
  package var greatest: PublicHead?

  package init(address: CatalogueAddress, folder: String? = nil) {
    self.address = address
    self.folder = folder
  }
}
