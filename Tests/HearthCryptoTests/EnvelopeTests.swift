import Testing

@testable import HearthCrypto

@Suite("Envelopes")
struct EnvelopeTests {
  private let body = Array("five points for the dishes".utf8)

  @Test("a sealed body comes back with its header, and both reading paths agree")
  func roundTrip() throws {
    let bytes = try Fixture.sealFresh(body)
    #expect(bytes.count == EnvelopeFormat.overheadBytes + 256)
    #expect(try Envelope.parseHeader(bytes) == Fixture.header())
    #expect(try Fixture.read(bytes) == body)
    #expect(try Envelope.open(bytes, zoneID: Fixture.zoneID, epoch: Fixture.epoch()) == body)
  }

  @Test("equal bodies give different bytes; equal randomness gives equal ones")
  func hedging() throws {
    let first = try Fixture.sealFresh(body)
    let second = try Fixture.sealFresh(body)
    #expect(first[142...] != second[142...] && first[..<142] == second[..<142])
    #expect(try Fixture.envelope(body) == Fixture.envelope(body))
    let other = try Fixture.envelope(body + [1])
    let nonces = Set([
      Array(try Fixture.envelope(body)[142..<166]), Array(other[142..<166]),
      Array(try Fixture.envelope(body, header: Fixture.header(lastSeq: 8))[142..<166]),
    ])
    #expect(
      nonces.count == 3, "with one and the same randomness, only equal messages share a nonce")
  }

  @Test("nothing of zone, device, epoch or chain stands in the clear")
  func clearHeader() throws {
    let bytes = try Fixture.sealFresh(body)
    for hidden in [
      Fixture.zoneID, Fixture.groupID, Fixture.chainBefore, Fixture.chainAfter,
      try Fixture.device().publicKeys.deviceID, try Array(Fixture.epoch().id[..<16]),
    ] {
      let found = (0...(bytes.count - hidden.count)).contains {
        bytes[$0..<($0 + hidden.count)].elementsEqual(hidden)
      }
      #expect(!found)
    }
    let later = try Fixture.epoch(9)
    #expect(try later.link(Fixture.chainAfter) != Fixture.epoch().link(Fixture.chainAfter))
  }

  @Test("negative 1: every single flipped bit of an envelope is refused")
  func bitFlips() throws {
    let bytes = try Fixture.envelope(body)
    let keys = try Fixture.device().publicKeys
    let epoch = try Fixture.epoch()
    let signed = bytes.count - Signature.count
    for bit in 0..<(bytes.count * 8) {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << (bit % 8)
      #expect(
        code { try Envelope.verifySignature(damaged, zoneID: Fixture.zoneID, keys: keys) } != nil,
        "signature, bit \(bit)")
      let opened = code { _ = try Envelope.open(damaged, zoneID: Fixture.zoneID, epoch: epoch) }
      #expect((opened == nil) == (bit / 8 >= signed), "encryption, bit \(bit)")
    }
  }

  @Test("negative 1: every truncation and extension of an envelope is refused")
  func truncations() throws {
    let bytes = try Fixture.envelope(Fixture.noise(600))
    for count in 0..<bytes.count {
      #expect(code { _ = try Fixture.read(Array(bytes[..<count])) } != nil, "\(count) bytes")
      #expect(
        code {
          _ = try Envelope.open(
            Array(bytes[..<count]), zoneID: Fixture.zoneID, epoch: Fixture.epoch())
        } != nil)
    }
    #expect(code { _ = try Fixture.read(bytes + [0]) } == .malformed)
  }

  @Test("negative 2: another zone, epoch, author, incarnation or seq is refused")
  func movedCiphertext() throws {
    let bytes = try Fixture.envelope(body)
    let keys = try Fixture.device().publicKeys
    #expect(
      code {
        _ = try Envelope.open(bytes, zoneID: Fixture.otherID, epoch: Fixture.epoch())
      } == .authenticationFailed)
    #expect(
      code {
        _ = try Envelope.open(bytes, zoneID: Fixture.zoneID, epoch: Fixture.epoch(9))
      } == .authenticationFailed)
    #expect(
      code { try Envelope.verifySignature(bytes, zoneID: Fixture.otherID, keys: keys) }
        == .badSignature)
    #expect(
      code { try Envelope.verifySignature(bytes, zoneID: [1], keys: keys) } == .badLength)
    #expect(
      code {
        try Envelope.verifySignature(
          bytes, zoneID: Fixture.zoneID, keys: Fixture.device(9).publicKeys)
      } == .badSignature)

    let otherGroup = try EpochKey(
      secret: Fixture.key(2), groupID: Fixture.otherID, zoneID: Fixture.zoneID)
    let otherZone = try EpochKey(
      secret: Fixture.key(2), groupID: Fixture.groupID, zoneID: Fixture.otherID)
    #expect(
      code { _ = try Envelope.open(bytes, zoneID: Fixture.zoneID, epoch: otherGroup) }
        == .authenticationFailed)
    #expect(
      code { _ = try Envelope.open(bytes, zoneID: Fixture.otherID, epoch: otherZone) }
        == .authenticationFailed)
  }

  @Test("negative 2: a ciphertext under a re-signed header of its own author is refused")
  func transplantedCiphertext() throws {
    let original = try Fixture.envelope(body)
    let headers = [
      try Fixture.header(incarnation: 2), try Fixture.header(firstSeq: 6),
      try Fixture.header(lastSeq: 8), try Fixture.header(type: .snapshotChunk),
    ]
    let epoch = try Fixture.epoch()
    for header in headers {
      var bytes = try Fixture.envelope(body, header: header)
      bytes.replaceSubrange(142..<(bytes.count - 64), with: original[142..<(original.count - 64)])
      #expect(
        code { _ = try Envelope.open(bytes, zoneID: Fixture.zoneID, epoch: epoch) }
          == .authenticationFailed)
    }
  }

  @Test("negative 22: another suite, a raised minimum or an unknown type is refused")
  func downgrade() throws {
    let bytes = try Fixture.envelope(body)
    for suite in [0, 2, 255] as [UInt8] {
      var changed = bytes
      changed[4] = suite
      #expect(code { _ = try Envelope.parseHeader(changed) } == .unsupportedSuite)
      #expect(code { _ = try Fixture.read(changed) } == .unsupportedSuite)
      #expect(code { _ = try Envelope.parseHeader(changed, minimumSuite: 0) } == .unsupportedSuite)
    }
    #expect(code { _ = try Envelope.parseHeader(bytes, minimumSuite: 2) } == .unsupportedSuite)
    for type in [0, 3, 255] as [UInt8] {
      var changed = bytes
      changed[5] = type
      #expect(code { _ = try Fixture.read(changed) } == .unsupportedType)
    }
    var swapped = bytes
    swapped[5] = 2
    #expect(code { _ = try Fixture.read(swapped) } == .badSignature)
    var noMagic = bytes
    noMagic[0] = 0x68
    #expect(code { _ = try Fixture.read(noMagic) } == .malformed)
  }

  @Test("sequence numbers start at 1 and never run backwards, when writing and when reading")
  func sequences() throws {
    #expect(code { _ = try Fixture.sealFresh(body, firstSeq: 0, lastSeq: 1) } == .malformed)
    #expect(code { _ = try Fixture.sealFresh(body, firstSeq: 3, lastSeq: 2) } == .malformed)
    _ = try Fixture.sealFresh(body, firstSeq: 1, lastSeq: 1)
    let most = EnvelopeFormat.maximumSequence
    _ = try Fixture.sealFresh(body, firstSeq: 1, lastSeq: most)
    #expect(code { _ = try Fixture.sealFresh(body, firstSeq: 1, lastSeq: most + 1) } == .malformed)
    var bytes = try Fixture.envelope(body)
    bytes.replaceSubrange(62..<70, with: [UInt8](repeating: 0, count: 8))
    #expect(code { _ = try Envelope.parseHeader(bytes) } == .malformed)
    bytes.replaceSubrange(62..<70, with: [UInt8](repeating: 9, count: 8))
    #expect(code { _ = try Envelope.parseHeader(bytes) } == .malformed)
  }

  @Test("arguments of the wrong length or of another zone are errors, not traps")
  func badArguments() throws {
    let device = try Fixture.device()
    let epoch = try Fixture.epoch()
    let zone = try Fixture.zone()
    func seal(_ zoneID: [UInt8], _ before: [UInt8], _ after: [UInt8]) -> CryptoError.Code? {
      code {
        _ = try Envelope.seal(
          type: .segment, zoneID: zoneID, device: device, incarnation: 1, epoch: epoch,
          zone: zone, firstSeq: 1, lastSeq: 1, chainBefore: before, chainAfter: after, body: [])
      }
    }
    #expect(seal(Fixture.zoneID, Fixture.chainBefore, Fixture.chainAfter) == nil)
    #expect(seal(Fixture.otherID, Fixture.chainBefore, Fixture.chainAfter) == .malformed)
    #expect(seal(Fixture.zoneID, [], Fixture.chainAfter) == .badLength)
    #expect(seal(Fixture.zoneID, Fixture.chainBefore, [1]) == .badLength)
    #expect(code { _ = try zone.authorTag(deviceID: [1]) } == .badLength)
    #expect(code { _ = try EpochKey.tag(ofID: [1]) } == .badLength)
    #expect(code { _ = try EpochKey.random(groupID: [], zoneID: Fixture.zoneID) } == .badLength)
    #expect(code { _ = try EpochKey.random(groupID: Fixture.groupID, zoneID: []) } == .badLength)
  }

  @Test("negative 30: body and envelope limits hold at the value and break one above")
  func limits() throws {
    let noise = Fixture.noise(EnvelopeFormat.maximumEnvelopeBytes)
    let guaranteed = Array(noise[..<EnvelopeFormat.guaranteedBodyBytes])
    #expect(try Fixture.read(Fixture.envelope(guaranteed)) == guaranteed)

    let largest = 33 * 32_768 - 2
    let full = try Fixture.envelope(Array(noise[..<largest]))
    #expect(full.count <= EnvelopeFormat.maximumEnvelopeBytes)
    #expect(try Fixture.read(full).count == largest)
    #expect(code { _ = try Fixture.envelope(Array(noise[...largest])) } == .tooLarge)

    var text = [UInt8]()
    while text.count <= EnvelopeFormat.maximumBodyBytes {
      text.append(contentsOf: noise[(text.count / 600)..<(text.count / 600 + 64)])
    }
    let most = Array(text[..<EnvelopeFormat.maximumBodyBytes])
    #expect(try Fixture.read(Fixture.envelope(most)) == most)
    let tooLong = Array(text[...EnvelopeFormat.maximumBodyBytes])
    #expect(code { _ = try Fixture.envelope(tooLong) } == .tooLarge)

    let padding = [UInt8](repeating: 0, count: EnvelopeFormat.maximumEnvelopeBytes + 1 - full.count)
    #expect(code { _ = try Envelope.parseHeader(full + padding) } == .tooLarge)
    #expect(code { _ = try Envelope.parseHeader(full + padding.dropLast()) } == .malformed)
  }

  @Test("negative 30: compressed lengths that lie are refused before memory is taken")
  func compressionBombs() throws {
    let real = [UInt8](repeating: 7, count: 4000)
    let frame = try #require(real.withUnsafeBytes { Compression.compress($0, limit: 1000) })
    func read(_ count: UInt32, _ frame: [UInt8]) throws -> CryptoError.Code? {
      var prefix = [1, 0, 0, 0, 0] as [UInt8]
      prefix.withUnsafeMutableBytes { $0.storeBigEndian(count, at: 1) }
      var plaintext = prefix + frame + [0x80]
      let padded = Padding.paddedCount(plaintext.count - 1)
      plaintext += [UInt8](repeating: 0, count: padded - plaintext.count)
      let bytes = try Fixture.envelope(plaintext: plaintext)
      return code { _ = try Fixture.read(bytes) }
    }
    #expect(try read(4000, frame) == nil)
    #expect(try read(4001, frame) == .malformed)
    #expect(try read(3999, frame) == .malformed)
    #expect(try read(1 << 30, frame) == .tooLarge)
    #expect(try read(.max, frame) == .tooLarge)
    #expect(try read(UInt32(EnvelopeFormat.maximumBodyBytes) + 1, Fixture.noise(9000)) == .tooLarge)
    // 16 times the plaintext is as much as there may be inside.
    #expect(EnvelopeFormat.maximumCompressionRatio == 16)
    #expect(try read(16 * 256, frame) == .malformed)
    #expect(try read(16 * 256 + 1, frame) == .tooLarge)
    let most = [UInt8](repeating: 7, count: 16 * 256 - 1)
    let packed = try #require(most.withUnsafeBytes { Compression.compress($0, limit: 1000) })
    #expect(try read(16 * 256 - 1, packed) == nil)
    #expect(try read(4000, frame + [0]) == .malformed)
    #expect(try read(4000, frame + frame) == .malformed)
    #expect(try read(4000, []) == .malformed)
    #expect(try read(0, frame) == .malformed)
    let short = [UInt8](repeating: 7, count: 200)
    let useless = try #require(short.withUnsafeBytes { Compression.compress($0, limit: 199) })
    #expect(try read(200, useless) == .malformed, "compressed although it saves nothing")
    var damaged = frame
    damaged[damaged.count - 2] ^= 0xff
    #expect(try read(4000, damaged) != nil)
  }

  @Test("a body that shrinks more is padded, and still read")
  func ratioFallback() throws {
    let zeros = [UInt8](repeating: 0, count: 1 << 20)
    let bytes = try Fixture.envelope(zeros)
    #expect(try Fixture.read(bytes) == zeros)
  }

  @Test("the id covers everything but the signature")
  func envelopeID() throws {
    let bytes = try Fixture.envelope(body)
    var other = bytes
    other[bytes.count - 1] ^= 1
    #expect(try Envelope.id(bytes) == Envelope.id(other))
    other[bytes.count - 65] ^= 1
    #expect(try Envelope.id(bytes) != Envelope.id(other))
    #expect(code { _ = try Envelope.id([]) } == .malformed)
  }

  @Test("every failed decryption reads the same")
  func oneMessage() throws {
    let bytes = try Fixture.envelope(body)
    var damaged = bytes
    damaged[200] ^= 1
    var messages = Set<String>()
    for (envelope, zoneID, epoch) in [
      (damaged, Fixture.zoneID, try Fixture.epoch()), (bytes, Fixture.otherID, try Fixture.epoch()),
      (bytes, Fixture.zoneID, try Fixture.epoch(9)),
    ] {
      do {
        _ = try Envelope.open(envelope, zoneID: zoneID, epoch: epoch)
      } catch {
        messages.insert("\(error)")
      }
    }
    #expect(messages.count == 1)
  }
}
