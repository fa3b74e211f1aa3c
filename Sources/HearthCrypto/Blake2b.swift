import CSodium

/// BLAKE2b (RFC 7693), the only hash in Hearth: 16 to 64 bytes of output, optionally keyed.
package enum Blake2b {
  /// The output lengths that libsodium supports.
  package static let lengths = 16...64

  /// Hashes bytes in one call.
  /// - Parameters:
  ///   - bytes: The message.
  ///   - count: The length of the digest, 16 to 64 bytes. It is an input of the hash, not a
  ///     truncation.
  ///   - key: A key of 16 to 64 bytes, or none.
  /// - Returns: The digest.
  package static func hash(_ bytes: [UInt8], count: Int = 32, key: [UInt8]? = nil) -> [UInt8] {
    bytes.withUnsafeBytes { message in
      array(count) { out in
        if let key {
          key.withUnsafeBytes { hash(message, into: out, key: $0) }
        } else {
          hash(message, into: out)
        }
      }
    }
  }

  /// Hashes bytes into the caller's memory, without allocation.
  /// - Parameters:
  ///   - message: The message.
  ///   - out: The memory for the digest; its length (16 to 64) is the digest's length.
  ///   - key: A key of 16 to 64 bytes, or none.
  package static func hash(
    _ message: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer,
    key: UnsafeRawBufferPointer? = nil
  ) {
    checkLengths(out.count, key)
    let status = crypto_generichash(
      out.unsignedBytes, out.count, message.unsignedBytes, UInt64(message.count),
      key?.unsignedBytes, key?.count ?? 0)
    precondition(status == 0, "BLAKE2b refused \(out.count) bytes out")
  }

  /// An incremental hash: the same digest as one call over all the bytes together.
  package struct Hasher {
    // The C state needs 64-byte alignment, which Swift cannot give a stored property. It is
    // therefore stored as plain bytes, and each call works on an aligned copy on the stack.
    private var state = InlineArray<48, UInt64>(repeating: 0)
    private let count: Int

    /// Starts an unkeyed hash of `count` bytes (16 to 64).
    package init(count: Int = 32) { self.init(count: count, rawKey: nil) }

    /// Starts a hash keyed with 16 to 64 public bytes.
    package init(count: Int = 32, key: [UInt8]) {
      self = key.withUnsafeBytes { Hasher(count: count, rawKey: $0) }
    }

    init(count: Int, rawKey: UnsafeRawBufferPointer?) {
      checkLengths(count, rawKey)
      self.count = count
      let status = withState {
        crypto_generichash_init($0, rawKey?.unsignedBytes, rawKey?.count ?? 0, count)
      }
      precondition(status == 0, "BLAKE2b refused \(count) bytes out")
    }

    /// Adds bytes to the message.
    package mutating func update(_ bytes: [UInt8]) {
      bytes.withUnsafeBytes { update($0) }
    }

    /// Adds bytes to the message.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
      _ = withState {
        crypto_generichash_update($0, bytes.unsignedBytes, UInt64(bytes.count))
      }
    }

    /// Adds a domain string to the message.
    package mutating func update(_ domain: Domain) { update(domain.bytes) }

    /// Adds an integer as eight big-endian bytes.
    package mutating func update(_ value: UInt64) {
      withUnsafeBytes(of: value.bigEndian) { update($0) }
    }

    /// Adds a part preceded by its length (eight bytes), so that ("ab", "c") and ("a", "bc")
    /// differ.
    package mutating func updateDelimited(_ part: [UInt8]) {
      update(UInt64(part.count))
      update(part)
    }

    /// Ends the hash and returns the digest.
    package consuming func finalize() -> [UInt8] {
      let count = self.count
      return array(count) { finalize(into: $0) }
    }

    /// Ends the hash and writes it into memory of exactly `count` bytes; the state is unusable
    /// afterwards.
    mutating func finalize(into out: UnsafeMutableRawBufferPointer) {
      precondition(out.count == count, "digest memory has \(out.count) bytes, not \(count)")
      let status = withState { crypto_generichash_final($0, out.unsignedBytes, out.count) }
      precondition(status == 0, "BLAKE2b was finalised twice")
    }

    private mutating func withState(_ body: (OpaquePointer) -> CInt) -> CInt {
      let stateCount = MemoryLayout<InlineArray<48, UInt64>>.size
      let alignment = 64
      return withUnsafeMutableBytes(of: &state) { stored in
        withZeroisedMemory(stateCount + alignment) { memory in
          guard let base = memory.baseAddress else { return -1 }
          let start = base.alignedUp(toMultipleOf: alignment)
          let aligned = UnsafeMutableRawBufferPointer(start: start, count: stateCount)
          aligned.copyMemory(from: UnsafeRawBufferPointer(stored))
          let status = body(OpaquePointer(start))
          stored.copyMemory(from: UnsafeRawBufferPointer(aligned))
          return status
        }
      }
    }
  }

  private static func checkLengths(_ count: Int, _ key: UnsafeRawBufferPointer?) {
    precondition(lengths.contains(count), "BLAKE2b digest of \(count) bytes")
    precondition(key.map { lengths.contains($0.count) } ?? true, "BLAKE2b key length")
  }

  /// An array of `count` bytes that a closure fills.
  static func array(_ count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows
    -> [UInt8]
  {
    try [UInt8](unsafeUninitializedCapacity: count) { buffer, initialised in
      try fill(UnsafeMutableRawBufferPointer(buffer))
      initialised = count
    }
  }
}

/// Identifiers derived from public facts, equal on every device.
package enum DerivedID {
  /// Derives a 16-byte identifier: BLAKE2b-128 of the domain and the length-prefixed parts.
  ///
  /// The id is not secret: everybody who knows the parts knows the id. Each part is preceded by its
  /// length (eight big-endian bytes), so no two lists of parts share an input. Derived ids are used
  /// if two devices may create "the same" record: seeds, setting keys, occurrences, awards.
  package static func make(domain: Domain, _ parts: [UInt8]...) -> [UInt8] {
    make(domain: domain, parts: parts)
  }

  /// Derives a 16-byte identifier from a list of parts.
  package static func make(domain: Domain, parts: [[UInt8]]) -> [UInt8] {
    var hasher = Blake2b.Hasher(count: 16)
    hasher.update(domain)
    for part in parts { hasher.updateDelimited(part) }
    return hasher.finalize()
  }
}

/// An address for C functions, for buffers that have none.
///
/// Nothing is ever read or written there.
nonisolated(unsafe) private let emptyAddress = UnsafeMutablePointer<UInt8>.allocate(capacity: 1)

extension UnsafeRawBufferPointer {
  /// The start as C bytes, never null.
  var unsignedBytes: UnsafePointer<UInt8> {
    baseAddress?.assumingMemoryBound(to: UInt8.self) ?? UnsafePointer(emptyAddress)
  }

  /// The part in a range, as a separate buffer.
  func part(_ range: Range<Int>) -> UnsafeRawBufferPointer { Self(rebasing: self[range]) }
}

extension UnsafeMutableRawBufferPointer {
  /// The start as C bytes, never null.
  var unsignedBytes: UnsafeMutablePointer<UInt8> {
    baseAddress?.assumingMemoryBound(to: UInt8.self) ?? emptyAddress
  }

  /// The part in a range, as a separate buffer.
  func part(_ range: Range<Int>) -> UnsafeMutableRawBufferPointer { Self(rebasing: self[range]) }
}
