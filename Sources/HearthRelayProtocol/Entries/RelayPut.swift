/// One blob to store.
package struct RelayPut: Hashable, Sendable {
  /// The opaque name, 1 to 128 bytes.
  package let name: [UInt8]
  /// Whether this put may replace the blob of the name, and later puts may replace this one.
  package let isReplaceable: Bool
  /// The sealed bytes.
  package let blob: [UInt8]

  package init(name: [UInt8], isReplaceable: Bool = false, blob: [UInt8]) {
    self.name = name
    self.isReplaceable = isReplaceable
    self.blob = blob
  }
}
