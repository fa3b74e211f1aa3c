import CSodium

/// Memory for secrets: with guard pages, locked against swapping, read-only once filled.
///
/// Each allocation takes four pages of address space, one of them resident and locked, and three or
/// four system mappings. This has two consequences, both reported against libsodium. First,
/// `sodium_malloc` fails after some 16,000 live allocations on a stock Linux, because
/// `vm.max_map_count` is used up, not memory (libsodium issues #901 and #902: raising
/// RLIMIT_MEMLOCK does not help). Second, pages beyond RLIMIT_MEMLOCK are silently left unlocked.
/// Secrets with a common lifetime therefore share one allocation here, and short-lived subkeys use
/// the stack and are zeroed.
final class GuardedMemory: @unchecked Sendable {
  // Sendable proof: both properties are `let`; the memory they describe is written only inside
  // `init`, before any other reference exists, and the kernel refuses writes from then on
  // (sodium_mprotect_readonly). `deinit` runs when no reference is left.
  private let address: UnsafeMutableRawPointer
  let count: Int

  /// Allocates `count` bytes and lets a closure fill them; afterwards they never change.
  /// - Throws: `outOfMemory`, or the closure's error (the memory is then zeroed and freed).
  init(count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
    try Sodium.initialise()
    guard let address = sodium_malloc(count) else {
      throw CryptoError(
        .outOfMemory,
        "No guarded memory for a key of \(count) bytes; free memory or raise vm.max_map_count.")
    }
    self.address = address
    self.count = count
    try fill(UnsafeMutableRawBufferPointer(start: address, count: count))
    sodium_mprotect_readonly(address)
  }

  deinit { sodium_free(address) }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: address, count: count) }

  func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows
    -> Result
  {
    try withExtendedLifetime(self) { try body(bytes) }
  }
}

/// A symmetric key of 32 bytes in guarded memory.
///
/// It never changes, and its description is redacted.
package final class SecretKey: Sendable, Redacted {
  /// The length of every symmetric key.
  package static let count = 32
  private let memory: GuardedMemory

  /// Makes a key whose bytes a closure writes directly into guarded memory.
  /// - Throws: `outOfMemory`, or the closure's error.
  package init(fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
    memory = try GuardedMemory(count: Self.count, fill)
  }

  /// Takes over 32 bytes and zeroes the source.
  ///
  /// The source is zeroed even if the call fails. Copies that the array made earlier cannot be
  /// zeroed, so pass an array without other references.
  /// - Throws: `badLength`, `outOfMemory`.
  package convenience init(consuming bytes: inout [UInt8]) throws {
    defer { zeroise(&bytes) }
    try CryptoError.require("A symmetric key", bytes.count, equals: Self.count)
    try self.init { $0.copyBytes(from: bytes) }
  }

  /// Makes a fresh random key.
  /// - Throws: `outOfMemory`.
  package static func random() throws -> SecretKey {
    try SecretKey { RandomBytes.fill($0) }
  }

  /// Provides the bytes to a closure, which must not copy them out.
  package func withUnsafeBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try memory.withUnsafeBytes(body)
  }

  /// Derives an independent key (libsodium `crypto_kdf`, BLAKE2b with salt and personalisation).
  /// - Parameters:
  ///   - id: The number of the subkey.
  ///   - context: Exactly eight ASCII characters that name its purpose.
  /// - Throws: `outOfMemory`.
  package func derive(id: UInt64, context: StaticString) throws -> SecretKey {
    try SecretKey { out in withUnsafeBytes { KDF.derive(from: $0, id, context, into: out) } }
  }

  /// A keyed hash of length-delimited parts.
  ///
  /// Each part is preceded by its length, so no two lists of parts share an input.
  /// - Parameters:
  ///   - count: The length of the result, 16 to 64 bytes.
  ///   - domain: The purpose.
  ///   - parts: The message.
  package func mac(count: Int = 32, domain: Domain, _ parts: [UInt8]...) -> [UInt8] {
    var hasher = Blake2b.Hasher(count: count, key: self)
    hasher.update(domain)
    for part in parts { hasher.updateDelimited(part) }
    return hasher.finalize()
  }
}

extension Blake2b.Hasher {
  /// Starts a hash keyed with a secret, which stays in its guarded memory until the first block.
  package init(count: Int = 32, key: SecretKey) {
    self = key.withUnsafeBytes { Blake2b.Hasher(count: count, rawKey: $0) }
  }
}

/// A secret of any length in guarded memory: a passphrase, a seed, an entry of a key file.
package final class SecretBytes: Sendable, Redacted {
  private let memory: GuardedMemory
  /// The number of bytes, which is not secret.
  package var count: Int { memory.count }

  /// Makes a secret whose bytes a closure writes directly into guarded memory.
  /// - Throws: `outOfMemory`, or the closure's error.
  package init(count: Int, fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
    memory = try GuardedMemory(count: count, fill)
  }

  /// Takes over bytes and zeroes the source, also if the call fails.
  /// - Throws: `outOfMemory`.
  package convenience init(consuming bytes: inout [UInt8]) throws {
    defer { zeroise(&bytes) }
    try self.init(count: bytes.count) { $0.copyBytes(from: bytes) }
  }

  /// Makes a copy of a symmetric key, for a key file.
  /// - Throws: `outOfMemory`.
  package convenience init(_ key: SecretKey) throws {
    try self.init(count: SecretKey.count) { out in key.withUnsafeBytes { out.copyMemory(from: $0) }
    }
  }

  /// Makes random bytes.
  /// - Throws: `outOfMemory`.
  package static func random(count: Int) throws -> SecretBytes {
    try SecretBytes(count: count) { RandomBytes.fill($0) }
  }

  /// Provides the bytes to a closure, which must not copy them out.
  package func withUnsafeBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try memory.withUnsafeBytes(body)
  }

  /// The secret as a symmetric key.
  /// - Throws: `badLength` unless it has 32 bytes; `outOfMemory`.
  package func key() throws -> SecretKey {
    try CryptoError.require("A symmetric key", count, equals: SecretKey.count)
    return try SecretKey { out in withUnsafeBytes { out.copyMemory(from: $0) } }
  }

  /// Whether two secrets are equal, in time that depends only on their lengths.
  package func isEqual(to other: SecretBytes) -> Bool {
    withUnsafeBytes { left in other.withUnsafeBytes { constantTimeEquals(left, $0) } }
  }
}

/// The subkey derivation of libsodium over raw memory.
enum KDF {
  static func derive(
    from key: UnsafeRawBufferPointer, _ id: UInt64, _ context: StaticString,
    into out: UnsafeMutableRawBufferPointer
  ) {
    precondition(
      context.utf8CodeUnitCount == Int(crypto_kdf_CONTEXTBYTES) && context.isASCII,
      "a key context has eight ASCII characters, not \(context)")
    precondition(key.count == SecretKey.count, "key of \(key.count) bytes")
    let name = context.withUTF8Buffer { text in text.map { CChar(bitPattern: $0) } }
    let status = crypto_kdf_derive_from_key(
      out.unsignedBytes, out.count, id, name, key.unsignedBytes)
    precondition(status == 0, "crypto_kdf refused a subkey of \(out.count) bytes")
  }
}
