import HearthCRDT

extension Exchange {
  /// Detects whether another copy of this node has published under its incarnations; if so, begins
  /// a new incarnation and reissues the colliding changes.
  mutating func checkOwnLives(in id: ZoneID, _ listing: TransportListing) async throws {
    if Mutant.neverLooksForOwn.isActive { return }
    var look = try ports.turn { try OtherCopy.otherCopyLook(in: id, listing, by: $0) }
    guard !look.files.isEmpty else { return }
    for name in look.files {
      // A file that cannot be read is reported when it is taken.
      guard let bytes = try? await ports.transport.fetch(name) else { continue }
      try ports.turn { try OtherCopy.compare(bytes, named: name, in: id, &look, by: $0) }
    }
    let (anchorFile, now) = (ports.anchorFile, ports.nowMilliseconds)
    try ports.turn {
      try OtherCopy.settle(
        look, in: id, listing, anchorFile: anchorFile, by: &$0, nowMilliseconds: now)
    }
  }
}
