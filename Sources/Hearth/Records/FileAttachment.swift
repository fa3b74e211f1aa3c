import HearthCRDT
import HearthSync

/// Content that is too large for a record: a photo, a document, a recording.
///
/// A record holds what leads to the content, in a field of type `FileAttachment?` or in a
/// `SetOf<FileAttachment>`. The content itself is encrypted under a key of its own, lies beside the
/// records on each transport, and is downloaded when somebody asks for it. So records sync fast
/// however many photos they have.
///
/// ```swift
/// struct Recipe: Record {
///   var id = Key<Recipe>()
///   var title = ""
///   var photo: FileAttachment?
///
///   static let schema = Schema<Recipe>("recipe", 1) {
///     Field(1, \.title)
///     Field(2, \.photo)
///   }
/// }
///
/// let cake = try await zone.write { tx in
///   try tx.insert(Recipe(title: "Cake", photo: tx.attach(jpeg, type: "image/jpeg")))
/// }
/// if let photo = cake.photo { show(try await zone.attachments.content(of: photo)) }
/// ```
///
/// An attachment belongs to the zone in which it was attached. A record of another zone that holds
/// it leads nowhere, so attach the content there too.
///
/// It never changes: to replace the content, attach other content. It stays for as long as a record
/// of the zone holds it, also as one of several values in conflict. Thirty days after the last one
/// is gone, its content is removed from this device and from the transports.
public struct FileAttachment: Hashable, Sendable {
  /// The most bytes of an attachment: just under 32 MiB.
  public static let maximumBytes = AttachmentReference.maximumBytes

  let reference: AttachmentReference

  init(_ reference: AttachmentReference) {
    self.reference = reference
  }

  /// The number of bytes of the content.
  public var byteCount: Int { reference.byteCount }

  /// The media type, such as `image/jpeg`, as whoever attached it states it.
  ///
  /// Nobody has checked it, so do not run or render content because of it.
  public var type: String { reference.type }
}

extension FileAttachment: CustomStringConvertible {
  /// The size and the media type; the key stays secret.
  public var description: String { "\(byteCount) bytes of \(printable(type))" }
}

extension FileAttachment: FieldValue {
  /// Bytes.
  public static var storedKind: StoredValue.Kind { .bytes }
  /// What leads to the content, with its key.
  public var stored: StoredValue { .bytes(reference.bytes) }
  /// Reads what leads to content; nil for what a newer program wrote.
  public init?(stored: StoredValue) {
    guard case .bytes(let bytes) = stored, let reference = AttachmentReference(bytes) else {
      return nil
    }
    self.reference = reference
  }
}
