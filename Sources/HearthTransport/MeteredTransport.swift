import HearthCRDT
import HearthSync

/// Adds progress reports to a transport that has none.
///
/// Sizes are not known before a file is read, so reports contain the number and bytes of files
/// without a total. Not thread-safe: it belongs to a node.
package final class MeteredTransport: Transport {
  private let base: any Transport
  private let listener: TransferListener
  private var meter: TransferMeter

  /// - Parameter place: what people call the transport.
  package init(_ base: any Transport, place: String, listener: @escaping TransferListener) {
    self.base = base
    self.listener = listener
    meter = TransferMeter(place: place)
  }

  private func tell(_ progress: TransferProgress?) {
    if let progress { listener(progress) }
  }

  package var canDecay: Bool { base.canDecay }

  package func place(of name: SegmentName) -> String { base.place(of: name) }

  package func list(zoneTag: Identifier) async throws -> TransportListing {
    try await base.list(zoneTag: zoneTag)
  }

  package func list(
    zoneTag: Identifier, preferring preference: ListingPreference
  ) async throws -> TransportListing {
    try await base.list(zoneTag: zoneTag, preferring: preference)
  }

  package func expect(_ names: [SegmentName]) {
    tell(meter.expect(files: names.count, bytes: nil))
    base.expect(names)
  }

  package func fetch(_ name: SegmentName) async throws -> [UInt8] {
    let bytes = try await base.fetch(name)
    tell(meter.receive(files: 1, bytes: bytes.count))
    return bytes
  }

  package func publish(_ name: SegmentName, _ bytes: [UInt8]) async throws {
    try await base.publish(name, bytes)
    tell(meter.give(files: 1, bytes: bytes.count))
  }

  package func publish(_ segments: [(name: SegmentName, bytes: [UInt8])]) async throws {
    try await base.publish(segments)
    tell(
      meter.give(
        files: segments.count, bytes: segments.reduce(0) { $0 + $1.bytes.count }))
  }

  package func remove(_ name: SegmentName) async throws { try await base.remove(name) }

  package func fetch(_ name: BlobName) async throws -> [UInt8]? {
    tell(meter.expect(name) { nil })
    let bytes = try await base.fetch(name)
    if let bytes, name.kind != .capsule { tell(meter.receive(files: 1, bytes: bytes.count)) }
    return bytes
  }

  package func publish(_ name: BlobName, _ bytes: [UInt8]) async throws {
    try await base.publish(name, bytes)
    if name.kind != .capsule { tell(meter.give(files: 1, bytes: bytes.count)) }
  }

  package func remove(_ name: BlobName) async throws { try await base.remove(name) }
}
