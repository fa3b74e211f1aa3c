import CSodium

/// Twelve words that encode 16 random bytes.
///
/// A person writes them down for recovery.
///
/// The scheme is BIP-39: 128 bits and a checksum of 4 bits (the first of SHA-256) make twelve
/// groups of 11 bits, each the position of a word in ``RecoveryWordList``. The bytes are the secret
/// without stretching, because nobody can guess 128 random bits. They are in guarded memory; words
/// appear only inside ``withWords(_:)``.
package final class RecoveryWords: Sendable, Redacted {
  /// The number of words.
  package static let wordCount = 12
  /// The length of the encoded secret.
  package static let entropyBytes = RecoveryRoot.entropyBytes
  /// The most text that is examined before it is rejected.
  package static let maximumTextBytes = 1024
  static let bitsPerWord = 11

  private let entropy: SecretBytes

  /// Takes 16 secret bytes.
  /// - Throws: `badLength`.
  package init(entropy: SecretBytes) throws {
    try CryptoError.require("The secret of recovery words", entropy.count, equals: 16)
    self.entropy = entropy
  }

  /// Draws new words.
  /// - Throws: `outOfMemory`.
  package static func random() throws -> RecoveryWords {
    try RecoveryWords(entropy: .random(count: entropyBytes))
  }

  /// Reads twelve words as a person types them, and zeroes the text in every case.
  ///
  /// Case does not matter, nor do blanks, line breaks, commas, and numbers before the words (`1.`,
  /// `1)`, `1:`, `1`). The numbers must count from 1 if there are any. Four or more first letters
  /// identify a word.
  ///
  /// The error for a wrong word contains its position and the nearest words of the list. One of
  /// them can be secret, so show the message to the person who typed and log only its code.
  /// - Parameter text: UTF-8, at most ``maximumTextBytes``.
  /// - Throws: `badLength` for another number of words or too much text; `malformed` for a word
  ///   that is not in the list, a number out of order, or a checksum that does not match.
  package convenience init(consuming text: inout [UInt8]) throws {
    defer { zeroise(&text) }
    guard text.count <= Self.maximumTextBytes else {
      throw CryptoError(
        .badLength,
        "The text has \(text.count) bytes; twelve words have at most \(Self.maximumTextBytes).")
    }
    let entropy = try text.withUnsafeBytes { text in
      try withZeroisedMemory(Self.wordCount * MemoryLayout<UInt16>.stride) { memory in
        let places = memory.bindMemory(to: UInt16.self)
        try RecoveryTextReader.read(text, into: places)
        return try Self.entropy(of: UnsafeBufferPointer(places))
      }
    }
    try self.init(entropy: entropy)
  }

  /// Provides the twelve words, in order, while a closure runs.
  ///
  /// There is no other access to the words. Write them where the person reads them and keep
  /// nothing: the memory is zeroed afterwards, but a `String` made from a word cannot be zeroed.
  package func withWords<Result>(
    _ body: (UnsafeBufferPointer<RecoveryWord>) throws -> Result
  ) rethrows -> Result {
    try withZeroisedMemory(Self.wordCount * MemoryLayout<RecoveryWord>.stride) { memory in
      let words = memory.bindMemory(to: RecoveryWord.self)
      fill(words)
      return try body(UnsafeBufferPointer(words))
    }
  }

  /// Whether the typed text is the word at a position, read like ``init(consuming:)``.
  ///
  /// It serves the question "what is your fifth word?" before words count as written down.
  /// - Parameters:
  ///   - typed: UTF-8, zeroed afterwards.
  ///   - place: 1 to ``wordCount``.
  package func isWord(consuming typed: inout [UInt8], at place: Int) -> Bool {
    precondition(1...Self.wordCount ~= place, "there is no recovery word \(place)")
    defer { zeroise(&typed) }
    guard typed.count <= Self.maximumTextBytes else { return false }
    let found = typed.withUnsafeBytes { RecoveryTextReader.onlyWord($0) }
    return withWords { Int($0[place - 1].place) == found }
  }

  /// The keys derived from the words.
  /// - Throws: `outOfMemory`.
  package func root() throws -> RecoveryRoot { try RecoveryRoot(entropy: entropy) }

  // MARK: Bits

  private func fill(_ words: UnsafeMutableBufferPointer<RecoveryWord>) {
    entropy.withUnsafeBytes { bytes in
      withZeroisedMemory(Self.entropyBytes + 1) { bits in
        bits.part(0..<Self.entropyBytes).copyMemory(from: bytes)
        bits[Self.entropyBytes] = Self.checksum(bytes) << 4
        for place in words.indices {
          words[place] = RecoveryWord(place: Self.group(place, of: UnsafeRawBufferPointer(bits)))
        }
      }
    }
  }

  /// One group of 11 bits, the most significant bit first.
  private static func group(_ number: Int, of bits: UnsafeRawBufferPointer) -> UInt16 {
    var value: UInt16 = 0
    for bit in (number * bitsPerWord)..<((number + 1) * bitsPerWord) {
      value = value << 1 | UInt16(bits[bit / 8] >> UInt8(7 - bit % 8) & 1)
    }
    return value
  }

  private static func entropy(of places: UnsafeBufferPointer<UInt16>) throws -> SecretBytes {
    try withZeroisedMemory(entropyBytes + 1) { bits in
      bits.initializeMemory(as: UInt8.self, repeating: 0)
      for bit in 0..<(wordCount * bitsPerWord) {
        let value = places[bit / bitsPerWord] >> UInt16(bitsPerWord - 1 - bit % bitsPerWord) & 1
        bits[bit / 8] |= UInt8(value) << UInt8(7 - bit % 8)
      }
      let bytes = UnsafeRawBufferPointer(bits.part(0..<entropyBytes))
      guard bits[entropyBytes] >> 4 == checksum(bytes) else {
        throw CryptoError(
          .malformed,
          "Each of the twelve words is in the list, but their checksum does not match: one word is "
            + "wrong, or two changed places; compare them with your sheet.")
      }
      return try SecretBytes(count: entropyBytes) { $0.copyMemory(from: bytes) }
    }
  }

  /// The first four bits of SHA-256.
  private static func checksum(_ entropy: UnsafeRawBufferPointer) -> UInt8 {
    withZeroisedMemory(Int(crypto_hash_sha256_BYTES)) { digest in
      _ = crypto_hash_sha256(
        digest.unsignedBytes, entropy.unsignedBytes, UInt64(entropy.count))
      return digest[0] >> 4
    }
  }
}

/// One of the twelve words, as its position in the list.
///
/// Only ``text`` reveals it.
package struct RecoveryWord: Sendable, Redacted {
  let place: UInt16

  /// The word, three to eight lower-case letters.
  package var text: String { RecoveryWordList.text(at: Int(place)) }
}
