import HearthCRDT
import HearthStore
import HearthSync

/// Downloads of single chunks, beside what a sync exchanges.
struct AttachmentTransfer: NodeWork {
  let core: NodeCore
  let zone: ZoneID

  /// Fetches a chunk from the first transport that has it, and keeps it.
  ///
  /// - Throws: `notFound` if all have answered and none has it; `offline`.
  func fetch(_ digest: Identifier) async throws -> [UInt8] {
    let failure = try await firstFailure(asking: digest) { transport, name in
      guard let bytes = try await transport.fetch(name) else { return false }
      let chunk = SealedChunk(bytes: bytes)
      guard chunk.digest == digest else { return false }
      try store.transaction { try store.attachments.save(chunk, in: zone) }
      return true
    }
    if let bytes = try store.attachments.bytes(of: digest, in: zone) { return bytes }
    if let failure {
      throw HearthError(
        .offline, "no transport that answers has this attachment: \(failure)", cause: failure)
    }
    throw HearthError(
      .notFound,
      "no transport has this attachment: the device on which it was attached has to sync first")
  }

  /// Requires that a transport has a chunk.
  func requireCopy(of digest: Identifier) async throws {
    var isThere = false
    _ = try await firstFailure(asking: digest) { transport, name in
      isThere = try await transport.fetch(name) != nil
      return isThere
    }
    guard isThere else {
      throw HearthError(
        .notAllowed,
        "no transport has this attachment yet, so this device may have the only copy: sync first")
    }
  }

  /// Asks one transport after the other until one does what is wanted.
  ///
  /// - Returns: the first failure of a transport before that.
  private func firstFailure(
    asking digest: Identifier, _ ask: (any Transport, BlobName) async throws -> Bool
  ) async throws -> TransportError? {
    let state = try engine.zone(zone)
    let name = BlobName(kind: .attachment, scope: state.tag, digest: digest)
    var failure: TransportError?
    for setting in try transports.list(of: state.group) {
      do {
        let transport = try connections.transport(setting.path)
        try await connections.admit(over: transport)
        if try await ask(transport, name) { break }
      } catch let error as TransportError {
        failure = failure ?? error
      }
    }
    return failure
  }
}
