import HearthCRDT

/// One frame: a length (4 bytes, big-endian), a type (1 byte), a request number (varint), a body.
///
/// The client chooses the number, and an answer repeats its request's number. Pushes carry 0.
package struct RelayFrame<Message: RelayMessage>: Hashable, Sendable {
  /// The number of the request that this frame is or answers; 0 for a push.
  package let request: UInt32
  /// The message.
  package let message: Message

  package init(request: UInt32, _ message: Message) {
    self.request = request
    self.message = message
  }

  /// The whole frame, starting with its length.
  package var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 64 + message.byteCountHint)
    writer.raw([0, 0, 0, 0])
    writer.byte(message.type)
    writer.varint(Int(request))
    message.encode(into: &writer)
    var bytes = writer.bytes
    let count = bytes.count - RelayFraming.lengthBytes
    precondition(count <= RelayLimits.maximumFrameBytes, "frame of \(count) bytes")
    for place in 0..<RelayFraming.lengthBytes {
      bytes[place] = UInt8(
        truncatingIfNeeded: count >> (8 * (RelayFraming.lengthBytes - 1 - place)))
    }
    return bytes
  }

  /// Reads a frame without its length field.
  ///
  /// - Throws: `CodecError` for everything that ``encoded`` would not have written.
  package init(decoding bytes: [UInt8]) throws(CodecError) {
    guard bytes.count <= RelayLimits.maximumFrameBytes else {
      throw CodecError(.beyondLimit, "frame", offset: 0)
    }
    var reader = ByteReader(bytes)
    let type = try reader.byte("frame type")
    let start = reader.offset
    request = UInt32(try reader.varint("request number", atMost: RelayLimits.maximumRequest))
    message = try Message(type: type, from: &reader)
    guard (request == 0) == message.isPush else {
      throw CodecError(.notCanonical, "request number", offset: start)
    }
    try reader.finish()
  }
}

/// The content of frames: the requests of a client, or the answers and pushes of a relay.
package protocol RelayMessage: Hashable, Sendable {
  /// The number of the kind of message.
  var type: UInt8 { get }
  /// Whether the message answers no request.
  var isPush: Bool { get }
  /// The approximate size of the body in bytes, to allocate space once.
  var byteCountHint: Int { get }
  /// Appends the body.
  func encode(into writer: inout ByteWriter)
  /// Reads the body of a known type.
  init(type: UInt8, from reader: inout ByteReader) throws(CodecError)
}

/// Splits a stream of bytes into frames.
package enum RelayFraming {
  /// The bytes of the length field.
  package static let lengthBytes = 4
  /// The shortest frame: a type and a request number.
  package static let minimumFrameBytes = 2

  /// The length that a frame's first four bytes announce, checked before anything is stored.
  ///
  /// - Throws: `CodecError.beyondLimit`.
  package static func frameBytes(
    announcedBy field: UInt32, atMost limit: Int = RelayLimits.maximumFrameBytes
  ) throws(CodecError) -> Int {
    guard field >= UInt32(minimumFrameBytes), field <= UInt32(limit) else {
      throw CodecError(.beyondLimit, "frame length", offset: 0)
    }
    return Int(field)
  }
}

/// Bytes that arrived and do not form a whole frame yet; never more than one frame and one read.
package struct RelayFrameBuffer: Sendable {
  private var bytes: [UInt8] = []
  private var start = 0
  /// The longest frame that is accepted now.
  package var limit: Int

  package init(limit: Int = RelayLimits.maximumFrameBytes) {
    self.limit = limit
  }

  /// The number of buffered bytes.
  package var count: Int { bytes.count - start }

  /// Adds bytes that were read.
  package mutating func append(_ more: [UInt8]) {
    if start > 0, start == bytes.count || start >= 64 << 10 {
      bytes.removeFirst(start)
      start = 0
    }
    bytes.append(contentsOf: more)
  }

  /// Returns the next whole frame without its length; nil if more bytes are needed.
  ///
  /// - Throws: `CodecError.beyondLimit`, after which the stream has no more frames.
  package mutating func next() throws(CodecError) -> [UInt8]? {
    guard count >= RelayFraming.lengthBytes else { return nil }
    let field = bytes[start..<start + RelayFraming.lengthBytes].reduce(UInt32(0)) {
      $0 << 8 | UInt32($1)
    }
    let length = try RelayFraming.frameBytes(announcedBy: field, atMost: limit)
    let end = start + RelayFraming.lengthBytes + length
    guard bytes.count >= end else { return nil }
    let frame = Array(bytes[start + RelayFraming.lengthBytes..<end])
    start = end
    if start == bytes.count {
      bytes.removeAll(keepingCapacity: bytes.capacity <= 64 << 10)
      start = 0
    }
    return frame
  }
}
