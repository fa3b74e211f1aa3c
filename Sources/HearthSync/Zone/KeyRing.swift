import HearthCrypto

/// The known epoch keys while a batch is searched for more keys.
struct KeyRing {
  private var held: [Int: Set<[UInt8]>] = [:]
  /// The indexes of the zones that gained a key.
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
