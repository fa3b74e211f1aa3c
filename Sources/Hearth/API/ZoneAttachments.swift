import Foundation
import HearthCRDT
import HearthStore
import HearthSync

/// The contents of a zone's attachments: on this device, or on a transport that has them.
public struct ZoneAttachments: Sendable {
  let node: Node
  let zone: ZoneID

  /// Returns the content of an attachment.
  ///
  /// What is not on this device yet is downloaded from the first transport that has it, and stays
  /// here; the next sync brings it to the transports that lack it. A download waits for the end of
  /// a sync that is under way.
  ///
  /// - Throws: `notFound` if no transport has it: the device on which it was attached has not
  ///   synced yet, or somebody has removed it; `offline` if a transport that may have it does not
  ///   answer; `corrupt` if the record was written with other content than it says.
  public func content(of attachment: FileAttachment) async throws(HearthError) -> Data {
    try await Hearth.reported {
      let reference = attachment.reference
      var content = Data(capacity: reference.byteCount)
      for (index, digest) in reference.chunks.enumerated() {
        let sealed = try await sealed(digest)
        do {
          content.append(contentsOf: try reference.open(sealed, at: index))
        } catch AttachmentError.damaged {
          throw HearthError(
            .corrupt,
            "the attachment of \(attachment) cannot be opened: its record does not fit its "
              + "content; attach it anew")
        }
      }
      return content
    }
  }

  /// Whether the content of an attachment is on this device.
  public func isHere(_ attachment: FileAttachment) async throws(HearthError) -> Bool {
    try await Hearth.reported {
      try await node.working { core in
        let here = Set(
          try core.store.attachments.chunks(of: zone).filter { $0.byteCount > 0 }.map(\.digest))
        return attachment.reference.chunks.allSatisfy { here.contains($0) }
      }
    }
  }

  /// Downloads what the records of the zone need and this device lacks.
  ///
  /// A device that does so keeps everything, even if the devices on which it was attached are lost,
  /// and brings each content to all of its transports.
  ///
  /// What a newer version of the program attached in a way that this one does not know is left to
  /// that version.
  ///
  /// - Returns: the number of bytes that were downloaded, and of chunks that no transport has.
  /// - Throws: `offline` after everything else was downloaded, if a transport that may have the
  ///   rest does not answer.
  @discardableResult
  public func download() async throws(HearthError) -> (bytes: Int, missingChunks: Int) {
    try await Hearth.reported {
      let needed = try await node.workingPatiently {
        try await AttachmentUse(core: $0).needed(in: zone).chunks
      }
      var (bytes, missing) = (0, 0)
      var offline: HearthError?
      for digest in needed.sorted() {
        if try await local(digest) != nil { continue }
        do {
          bytes += try await sealed(digest).count
        } catch {
          let error = HearthError(translating: error)
          switch error.code {
          case .notFound: missing += 1
          // What others have is downloaded all the same.
          case .offline: offline = error
          default: throw error
          }
        }
      }
      if let offline { throw offline }
      return (bytes, missing)
    }
  }

  /// Frees the space that an attachment takes on this device.
  ///
  /// It is downloaded again when somebody asks for it. Nothing else changes: to remove content for
  /// everybody, remove it from its record.
  ///
  /// - Throws: `notAllowed` if no transport that answers has it: this may be the only copy.
  public func free(_ attachment: FileAttachment) async throws(HearthError) {
    try await Hearth.reported {
      for digest in attachment.reference.chunks where try await local(digest) != nil {
        _ = try await node.alone { core in
          try await AttachmentTransfer(core: core, zone: zone).requireCopy(of: digest)
        }
      }
      try await node.working { core in
        try core.store.transaction {
          for digest in attachment.reference.chunks {
            try core.store.attachments.drop(digest, in: zone)
          }
        }
      }
    }
  }

  private func local(_ digest: Identifier) async throws -> [UInt8]? {
    try await node.working { try $0.store.attachments.bytes(of: digest, in: zone) }
  }

  private func sealed(_ digest: Identifier) async throws -> [UInt8] {
    if let here = try await local(digest) { return here }
    return try await node.alone { core in
      try await AttachmentTransfer(core: core, zone: zone).fetch(digest)
    }
  }
}

extension HearthZone {
  /// The contents of the zone's attachments.
  public var attachments: ZoneAttachments { ZoneAttachments(node: node, zone: zone) }
}
