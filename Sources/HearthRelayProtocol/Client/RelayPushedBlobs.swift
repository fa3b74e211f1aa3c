/// Blobs that a live subscription brought, by name, until they are asked for.
///
/// A push brings an entry with its blob. How the log goes on is ``RelayLogEnd``'s; here are the
/// blobs alone. What lies under a name that nobody may replace carries its own digest, so who then
/// asks for it need not get it twice.
struct RelayPushedBlobs: Sendable {
  private var blobs: [[UInt8]: [UInt8]] = [:]
  /// The names in the order in which they came.
  private var order: [[UInt8]] = []
  private(set) var byteCount = 0

  /// How many bytes of names and blobs are kept of one mailbox: some pushes' worth.
  static let maximumBytes = 256 << 10
  /// What an entry counts for beside its bytes, so that a relay cannot fill the memory with empty
  /// ones, nor the time with looking through them.
  private static let entryBytes = 256

  static func cost(_ name: [UInt8], _ blob: [UInt8]) -> Int {
    entryBytes + name.count + blob.count
  }

  /// Keeps what was pushed; where that is too much, what came first goes.
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

  /// The blobs of some names, which are let go: who asks again asks the relay.
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
