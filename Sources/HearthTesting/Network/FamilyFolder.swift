import HearthCRDT
import HearthSync

/// One person's copy of the shared folder, as a node's transport.
struct FamilyFolder: Transport {
  let network: FolderNetwork
  let name: String
  /// Ends the node at once.
  let end: @Sendable () async -> Void

  func place(of name: SegmentName) -> String { "\(name.digest)" }

  func list(zoneTag: Identifier) async throws -> TransportListing {
    try await call()
    let names = network.read(name) { $0.names }
    let blobs = names.compactMap { name -> BlobName? in
      guard case .blob(let blob) = name, blob.scope == zoneTag else { return nil }
      return blob
    }.sorted()
    return TransportListing(
      segments: names.compactMap { name in
        guard case .segment(let segment) = name, segment.zoneTag == zoneTag else { return nil }
        return segment
      }.sorted(),
      snapshots: blobs.filter { $0.kind == .snapshot },
      attachments: blobs.filter { $0.kind == .attachment })
  }

  func fetch(_ segment: SegmentName) async throws -> [UInt8] {
    try await call()
    guard let bytes = network.read(name, { $0.bytes(of: .segment(segment)) }) else {
      throw TransportError(
        .notFound, place: place(of: segment), message: "the file is not in the folder",
        remedy: "wait until it arrives")
    }
    return bytes
  }

  func publish(_ segment: SegmentName, _ bytes: [UInt8]) async throws {
    try await make(FolderChange(name: .segment(segment), bytes: bytes))
  }

  func remove(_ segment: SegmentName) async throws {
    try await make(FolderChange(name: .segment(segment), bytes: nil))
  }

  func fetch(_ blob: BlobName) async throws -> [UInt8]? {
    try await call()
    return network.read(name) { $0.bytes(of: .blob(blob)) }
  }

  func publish(_ blob: BlobName, _ bytes: [UInt8]) async throws {
    try await make(FolderChange(name: .blob(blob), bytes: bytes))
  }

  func remove(_ blob: BlobName) async throws {
    try await make(FolderChange(name: .blob(blob), bytes: nil))
  }

  private func make(_ change: FolderChange) async throws {
    try await call()
    network.make(change, by: name)
  }

  private func call() async throws {
    switch network.outcome(ofCallBy: name) {
    case .goesOn: return
    case .ends:
      await end()
      throw fault("the node ends here")
    case .fails: throw fault("the folder fails, as the test asked")
    }
  }

  private func fault(_ message: String) -> TransportError {
    TransportError(
      .inputOutput, place: "the family's folder", message: message, remedy: "sync again")
  }
}
