import HearthCrypto

/// Which keys are here while a batch is looked through for more of them.
struct KeyRing {
  private var held: [Int: Set<[UInt8]>] = [:]
  /// The places of the zones that have new ones.
  private(set) var changed: Set<Int> = []

  init(_ zones: [ZoneState]) {
    for (place, zone) in zones.enumerated() { held[place] = Set(zone.epochs.map(\.id)) }
  }

  func holds(_ epoch: [UInt8], at place: Int) -> Bool { held[place]?.contains(epoch) ?? false }

  mutating func note(_ epoch: [UInt8], at place: Int) {
    held[place, default: []].insert(epoch)
    changed.insert(place)
  }
}
