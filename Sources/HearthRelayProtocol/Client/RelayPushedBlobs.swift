/// Blobs that a live subscription brought, by name, until they are asked for.
///
/// A push brings an entry with its blob. ``RelayLogEnd`` tracks the log; this type holds only the
/// blobs. The blob of an irreplaceable name is identified by the digest in the name, so a caller
/// that asks for it need not receive it twice.
struct RelayPushedBlobs: Sendable {
  private var blobs: [[UInt8]: [UInt8]] = [:]
  /// The names in order of arrival.
  private var order: [[UInt8]] = []
  private(set) var byteCount = 0

  /// The most bytes of names and blobs to keep of one mailbox: the content of some pushes.
  static let maximumBytes = 256 << 10
  /// The fixed cost of an entry beside its bytes.
  ///
  /// It keeps a relay from filling the memory with empty entries, or using up time with searches
  /// through them.
  private static let entryBytes = 256

  static func cost(_ name: [UInt8], _ blob: [UInt8]) -> Int {
    entryBytes + name.count + blob.count
  }

  /// Keeps pushed entries.
  ///
  /// If that is too much, the earliest are dropped.
  mutating func append(_ entries: [RelayEntry]) {
    for entry in entries {
      let name = entry.header.name
      if blobs[name] != nil {
        drop(name)
        order.removeAll { $0 == name }
      }
      guard entry.header.isLive, !entry.header.isReplaceable else { continue }
      blobs[name] = entry.blob
      order.append(name)
      byteCount += RelayPushedBlobs.cost(name, entry.blob)
    }
    var dropped = 0
    while byteCount > RelayPushedBlobs.maximumBytes, dropped < order.count {
      drop(order[dropped])
      dropped += 1
    }
    order.removeFirst(dropped)
  }

  /// Returns the blobs of some names and discards them.
  ///
  /// A second call for them has to ask the relay.
  ///
  /// - Returns: nil unless all are here.
  mutating func take(_ names: [[UInt8]]) -> [[UInt8]?]? {
    let found = names.map { blobs[$0] }
    guard !names.isEmpty, found.allSatisfy({ $0 != nil }) else { return nil }
    for name in names { drop(name) }
    order.removeAll { blobs[$0] == nil }
    return found
  }

  private mutating func drop(_ name: [UInt8]) {
    guard let blob = blobs.removeValue(forKey: name) else { return }
    byteCount -= RelayPushedBlobs.cost(name, blob)
  }
}
