import HearthCRDT

extension Exchange {
  /// Finds out whether another copy of this node has published under its lives, and if so begins
  /// a new life and writes again what collides.
  mutating func checkOwnLives(in id: ZoneID, _ listing: TransportListing) async throws {
    if Mutant.neverLooksForOwn.isActive { return }
    var look = try turn { try $0.otherCopyLook(in: id, listing) }
    guard !look.files.isEmpty else { return }
    for name in look.files {
      // What cannot be read is told of when it is taken.
      guard let bytes = try? await transport.fetch(name) else { continue }
      try turn { try $0.compare(bytes, named: name, in: id, &look) }
    }
    let (anchorFile, now) = (anchorFile, nowMilliseconds)
    try turn {
      try $0.settle(look, in: id, listing, anchorFile: anchorFile, nowMilliseconds: now)
    }
  }
}
