import HearthSync

extension ZoneTransaction {
  /// Attaches content: the transaction then stores the result in a field of a record.
  ///
  /// The content is durable when the transaction is. The next sync uploads it.
  ///
  /// - Parameters:
  ///   - content: at most ``FileAttachment/maximumBytes``; it may be empty.
  ///   - type: the media type, such as `image/jpeg`, in at most 255 bytes.
  /// - Returns: what a record holds of it.
  /// - Throws: `tooLarge`; `invalid` if the type is too long.
  public func attach(
    _ content: some Collection<UInt8>, type: String = "application/octet-stream"
  ) throws(HearthError) -> FileAttachment {
    guard content.count <= FileAttachment.maximumBytes else {
      throw HearthError(
        .tooLarge,
        "the content has \(content.count) bytes, and an attachment has at most "
          + "\(FileAttachment.maximumBytes): attach it in parts, or make it smaller")
    }
    return try reported {
      do {
        let (reference, chunks) = try AttachmentReference.sealing(Array(content), type: type)
        attach(chunks)
        return FileAttachment(reference)
      } catch AttachmentError.typeTooLong {
        throw HearthError(
          .invalid,
          "the media type has \(type.utf8.count) bytes, and at most "
            + "\(AttachmentReference.maximumTypeBytes) are allowed")
      }
    }
  }
}
