import HearthCRDT
import HearthCrypto
import TestSupport
import Testing

@testable import HearthRelayProtocol
@testable import HearthSync

@Suite("Codec of the relay protocol")
struct RelayCodecTests {
  private func request(_ bytes: [UInt8]) -> CodecError.Code? {
    codecCode { _ = try RelayFrame<RelayRequest>(decoding: bytes) }
  }

  private func reply(_ bytes: [UInt8]) -> CodecError.Code? {
    codecCode { _ = try RelayFrame<RelayReply>(decoding: bytes) }
  }

  private func recoded(_ message: RelayRequest) -> CodecError.Code? {
    request(Array(RelayFrame(request: 1, message).encoded.dropFirst(4)))
  }

  private func recoded(_ message: RelayReply) -> CodecError.Code? {
    let number: UInt32 = message.isPush ? 0 : 1
    return reply(Array(RelayFrame(request: number, message).encoded.dropFirst(4)))
  }

  private func varint(_ value: Int) -> [UInt8] {
    var writer = ByteWriter()
    writer.varint(value)
    return writer.bytes
  }

  @Test("every prefix is refused as cut short, and every frame with a byte more")
  func lengths() throws {
    for frame in try RelayFixture.requests() {
      let bytes = Array(frame.encoded.dropFirst(4))
      for count in 0..<bytes.count { #expect(request(Array(bytes[..<count])) != nil) }
      #expect(request(bytes + [0]) == .trailingBytes)
    }
    for frame in try RelayFixture.replies() {
      let bytes = Array(frame.encoded.dropFirst(4))
      for count in 0..<bytes.count { #expect(reply(Array(bytes[..<count])) != nil) }
      #expect(reply(bytes + [0]) == .trailingBytes)
    }
  }

  @Test("a second spelling, an unknown type and a wrong request number are refused")
  func spellings() {
    #expect(request([0x10, 1]) == nil)
    #expect(request([0x10, 0x81, 0]) == .notCanonical)
    #expect(request([0x10, 0]) == .notCanonical)
    #expect(request([0x10, 0xff, 0xff, 0xff, 0xff, 0x0f]) == nil)
    #expect(request([0x10, 0x80, 0x80, 0x80, 0x80, 0x10]) == .beyondLimit)
    for type: UInt8 in [0, 0x14, 0x41, 0x81, 0xff] { #expect(request([type, 1]) == .unknown) }
    for type: UInt8 in [0, 0x01, 0x40, 0x4e, 0x80, 0x86] { #expect(reply([type, 1]) == .unknown) }
    // A push has no number, an answer has one.
    #expect(reply([0x82, 0, 3, 9]) == nil && reply([0x82, 1, 3, 9]) == .notCanonical)
    #expect(reply([0x4c, 1]) == nil && reply([0x4c, 0]) == .notCanonical)
    // A hello of no version, of versions the wrong way round, of another protocol.
    let magic: [UInt8] = [1, 1, 0x48, 0x52, 0x4c, 0x59]
    #expect(request(magic + [1, 9]) == nil && request(magic + [2, 1]) == .notCanonical)
    #expect(request(magic + [0, 1]) == .notCanonical)
    #expect(request([1, 1, 0x48, 0x54, 0x54, 0x50, 1, 1]) == .unknown)
    // Flags that do not exist.
    #expect(request([8, 1, 3, 0, 1, 2]) == .unknown)
    #expect(request([6, 1, 3, 1, 2, 1, 97, 0]) == .unknown)
    #expect(reply([0x47, 1, 1, 2]) == .unknown)
    // A removal that says it has a blob, is live or is replaceable.
    let digest = [UInt8](repeating: 0, count: 32)
    for flags: UInt8 in [3, 5, 8] {
      #expect(reply([0x81, 0, 3, 1, 1, flags, 1, 97, 0] + digest) != nil)
    }
    #expect(reply([0x81, 0, 3, 1, 1, 1, 1, 97, 0] + digest) == nil)
    #expect(reply([0x81, 0, 3, 1, 1, 1, 1, 97, 1] + digest) == .notCanonical)
  }

  @Test("names have 1 to 128 bytes")
  func names() {
    let longest = [UInt8](repeating: 7, count: RelayLimits.maximumNameBytes)
    #expect(recoded(.remove(channel: 0, names: [longest])) == nil)
    #expect(recoded(.remove(channel: 0, names: [longest + [7]])) == .beyondLimit)
    #expect(recoded(.remove(channel: 0, names: [[], [1, 2]])) == .notCanonical)
    #expect(recoded(.put(channel: 0, items: [RelayPut(name: [], blob: [])])) != nil)
  }

  @Test("batches have 1 to 400 items and at most 2 MiB")
  func batches() {
    let names = (0...RelayLimits.maximumBatchItems).map { [UInt8(truncatingIfNeeded: $0)] }
    #expect(recoded(.fetch(channel: 0, names: Array(names.dropLast()))) == nil)
    #expect(recoded(.fetch(channel: 0, names: names)) == .beyondLimit)
    #expect(recoded(.fetch(channel: 0, names: [])) == .notCanonical)
    let items = names.map { RelayPut(name: $0, blob: []) }
    #expect(recoded(.put(channel: 0, items: Array(items.dropLast()))) == nil)
    #expect(recoded(.put(channel: 0, items: items)) == .beyondLimit)
    // Two blobs and two names of one byte fill a batch to the byte.
    let half = [UInt8](repeating: 1, count: RelayLimits.maximumBatchBytes / 2 - 1)
    let full = [RelayPut(name: [1], blob: half), RelayPut(name: [2], blob: half)]
    #expect(recoded(.put(channel: 0, items: full)) == nil)
    let over = [full[0], RelayPut(name: [2], blob: half + [1])]
    #expect(recoded(.put(channel: 0, items: over)) == .beyondLimit)
  }

  @Test("a blob has at most the bytes of an envelope")
  func blobs() {
    let most = [UInt8](repeating: 1, count: RelayLimits.maximumBlobBytes)
    #expect(recoded(.put(channel: 0, items: [RelayPut(name: [1], blob: most)])) == nil)
    #expect(
      recoded(.put(channel: 0, items: [RelayPut(name: [1], blob: most + [1])])) == .beyondLimit)
    #expect(recoded(.blobs([most])) == nil && recoded(.blobs([most + [1]])) == .beyondLimit)
    let digest = RelayFixture.bytes32(1)
    for (count, expected) in [(most.count, CodecError.Code?.none), (most.count + 1, .beyondLimit)] {
      let header = RelayHeader(
        position: 1, kind: .put, isReplaceable: false, isLive: false, name: [1],
        byteCount: count, digest: digest)
      let listing = RelayListing(headers: [header], through: 1, head: 1, chain: digest)
      #expect(recoded(.listing(listing)) == expected)
    }
  }

  @Test("channels, limits, positions and credentials end where they are said to")
  func numbers() throws {
    let channel = RelayLimits.maximumChannels
    #expect(recoded(.close(channel: channel - 1)) == nil)
    #expect(recoded(.close(channel: channel)) == .beyondLimit)
    let page = RelayLimits.maximumListItems
    #expect(recoded(.list(channel: 0, after: 0, limit: page, isLiveOnly: false)) == nil)
    #expect(
      recoded(.list(channel: 0, after: 0, limit: page + 1, isLiveOnly: false)) == .beyondLimit)
    #expect(recoded(.list(channel: 0, after: 0, limit: 0, isLiveOnly: false)) == .notCanonical)
    let batch = RelayLimits.maximumBatchItems
    #expect(recoded(.fetchAfter(channel: 0, after: 0, limit: batch)) == nil)
    #expect(recoded(.fetchAfter(channel: 0, after: 0, limit: batch + 1)) == .beyondLimit)
    let last = RelayLimits.maximumPosition
    #expect(recoded(.fetchAfter(channel: 0, after: last, limit: 1)) == nil)
    #expect(recoded(.fetchAfter(channel: 0, after: last + 1, limit: 1)) == .beyondLimit)
    let key = RelayFixture.run(0, 32)
    #expect(recoded(.rotate(channel: 0, generation: 0, accessKey: key)) == .beyondLimit)
    let longest = [UInt8](repeating: 1, count: RelayLimits.maximumCredentialBytes)
    for (credential, expected) in [(longest, CodecError.Code?.none), (longest + [1], .beyondLimit)]
    {
      let creation = RelayCreation(
        channel: 0, kind: .sealed, accessKey: key, managerKey: key, credential: credential,
        clientNonce: RelayFixture.bytes32(0), accessSignature: key + key,
        managerSignature: key + key)
      #expect(recoded(.create(creation)) == expected)
    }
  }

  @Test("of a creation that names a parent each byte is read strictly")
  func parents() throws {
    let whole = try RelayFixture.create(RelayFixture.childCreation(), RelayFixture.parent).encoded
    let frame = Array(whole.dropFirst(4))
    let parent = try #require(
      frame.indices.first { Array(frame[$0...].prefix(17)) == RelayFixture.parent.bytes })
    let read = try RelayFrame<RelayRequest>(decoding: frame)
    guard case .create(let creation) = read.message else {
      Issue.record("no creation")
      return
    }
    #expect(creation.parent == RelayFixture.parent)
    #expect(creation.signed.parent == RelayFixture.parent.bytes)
    func fault(_ change: (inout [UInt8]) -> Void) -> CodecError.Code? {
      var bytes = frame
      change(&bytes)
      do {
        _ = try RelayFrame<RelayRequest>(decoding: bytes)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(fault { $0[parent] = 1 } == nil)
    #expect(fault { $0[parent] = 3 } == nil)
    #expect(fault { $0[parent] = 4 } == .unknown)
    // Without the parent's name the rest is too long, and a catalogue belongs to nothing.
    #expect(fault { $0[parent] = 0 } != nil)
    let kind = parent - 1 - 2 * SigningPublicKey.count - 1
    #expect(frame[kind] == 0 && fault { $0[kind] = 1 } == .unknown)
  }

  @Test("faults keep codes that are not known yet and end where they are said to")
  func faults() {
    func bytes(_ code: Int, _ wait: Int, _ text: Int) -> [UInt8] {
      [0x4f, 1] + varint(code) + varint(wait) + varint(text)
        + [UInt8](repeating: UInt8(ascii: "x"), count: text)
    }
    let wait = RelayLimits.maximumRetryMilliseconds
    let text = RelayLimits.maximumMessageBytes
    #expect(reply(bytes(999, wait, text)) == nil)
    #expect(reply(bytes(65_536, 0, 0)) == .beyondLimit)
    #expect(reply(bytes(1, wait + 1, 0)) == .beyondLimit)
    #expect(reply(bytes(1, 0, text + 1)) == .beyondLimit)
    #expect(reply([0x4f, 1, 1, 0, 1, 0xff]) == .invalidText)
  }

  @Test("listings and pages are in order, pages and pushes without gaps")
  func order() {
    let chain = RelayFixture.chain1
    let headers = [RelayFixture.first, RelayFixture.third]
    #expect(recoded(.listing(.init(headers: headers, through: 3, head: 3, chain: chain))) == nil)
    for (headers, through, head): ([RelayHeader], UInt64, UInt64) in [
      (headers.reversed(), 3, 3), (headers + [RelayFixture.third], 3, 3), (headers, 2, 3),
      (headers, 4, 3),
    ] {
      #expect(
        recoded(.listing(.init(headers: headers, through: through, head: head, chain: chain)))
          == .notCanonical)
    }
    let entries = RelayFixture.entries
    #expect(recoded(.pushed(channel: 0, entries: entries)) == nil)
    #expect(recoded(.pushed(channel: 0, entries: [entries[0], entries[2]])) == .notCanonical)
    #expect(recoded(.pushed(channel: 0, entries: [entries[1], entries[0]])) == .notCanonical)
  }

  @Test("a push in two parts is the same frame")
  func pushParts() {
    for channel in [0, 127, 128, 255] {
      let tail = RelayPushTail(RelayFixture.entries)
      let whole = RelayFrame<RelayReply>(
        request: 0, .pushed(channel: channel, entries: RelayFixture.entries))
      #expect(tail.head(channel: channel) + tail.bytes == whole.encoded)
      let packed = RelayPushTail(RelayFixture.packed, from: 300)
      let whole2 = RelayFrame<RelayReply>(
        request: 0, .pushedPacked(channel: channel, from: 300, items: RelayFixture.packed))
      #expect(packed.head(channel: channel) + packed.bytes == whole2.encoded)
    }
  }

  @Test("a stream is cut into the same frames however it arrives")
  func stream() throws {
    let frames = try RelayFixture.requests().map(\.encoded)
    let stream = frames.flatMap { $0 }
    for step in [1, 2, 3, 7, 100, stream.count] {
      var buffer = RelayFrameBuffer()
      var found: [[UInt8]] = []
      var place = 0
      while place < stream.count {
        buffer.append(Array(stream[place..<min(stream.count, place + step)]))
        while let frame = try buffer.next() { found.append(frame) }
        place += step
      }
      #expect(found == frames.map { Array($0.dropFirst(4)) } && buffer.count == 0)
    }
  }

  @Test("the length field is judged before anything is kept")
  func lengthField() throws {
    let most = RelayLimits.maximumFrameBytes
    #expect(try RelayFraming.frameBytes(announcedBy: UInt32(most)) == most)
    for field in [0, 1, UInt32(most) + 1, .max] {
      #expect(codecCode { _ = try RelayFraming.frameBytes(announcedBy: field) } == .beyondLimit)
    }
    var buffer = RelayFrameBuffer(limit: RelayLimits.maximumHandshakeFrameBytes)
    buffer.append([0, 0, 4, 1])
    #expect(codecCode { _ = try buffer.next() } == .beyondLimit)
    buffer = RelayFrameBuffer(limit: RelayLimits.maximumHandshakeFrameBytes)
    buffer.append([0, 0, 4, 0])
    #expect(try buffer.next() == nil)
    #expect(request([UInt8](repeating: 0x10, count: most + 1)) == .beyondLimit)
    // The handshake fits the smaller limit; the longest request the larger.
    for frame in try RelayFixture.requests() where [1, 2, 3, 4].contains(frame.message.type) {
      #expect(frame.encoded.count < RelayLimits.maximumHandshakeFrameBytes)
    }
  }

  @Test("an address has one spelling")
  func address() throws {
    let pin = RelayFixture.bytes32(0x40)
    let text = "\(try RelayAddress(host: "127.0.0.1", port: 7440, pin: pin))"
    #expect(text.hasPrefix("hearth-relay://127.0.0.1:7440/") && text.utf8.count == 82)
    for host in ["127.0.0.1", "relay.example.org", "2001:db8::1"] {
      let address = try RelayAddress(host: host, port: 65_535, pin: pin)
      #expect(try RelayAddress(address.description) == address)
    }
    let authority = try RelayAddress("hearth-relay://relay.example.org:7440/ca")
    #expect(authority.asksAuthorities && authority.pin == RelayAddress.byAuthority)
    #expect(authority.description == "hearth-relay://relay.example.org:7440/ca")
    let end = text.dropFirst("hearth-relay://127.0.0.1:7440".count)
    for wrong in [
      "hearth-relay://127.0.0.1:7440", "hearth-relay://127.0.0.1\(end)", text + "/", text + "0",
      String(text.dropLast()), text.uppercased(), "hearth-relay://127.0.0.1:07440\(end)",
      "hearth-relay://127.0.0.1:0\(end)", "hearth-relay://127.0.0.1:65536\(end)",
      "hearth-relay://:7440\(end)", "hearth-relay://a b:7440\(end)",
      "hearth-relay://127.0.0.1:7440/CA", "hearth-relay://127.0.0.1:7440/",
      "hearth-relay://127.0.0.1:7440/" + String(repeating: "0", count: 52),
      "hearth-relay://[127.0.0.1]:7440\(end)", "hearth-relay://::1:7440\(end)", "https" + end,
      "hearth-relay://\(String(repeating: "a", count: 254)):1\(end)",
    ] {
      #expect(throws: SyncError.self, "\(wrong)") { try RelayAddress(wrong) }
    }
  }

  @Test("damaged frames give a typed error or the one spelling of something")
  func damage() throws {
    try damage(RelayFixture.requests().map { Array($0.encoded.dropFirst(4)) }) {
      Array(try RelayFrame<RelayRequest>(decoding: $0).encoded.dropFirst(4))
    }
    try damage(RelayFixture.replies().map { Array($0.encoded.dropFirst(4)) }) {
      Array(try RelayFrame<RelayReply>(decoding: $0).encoded.dropFirst(4))
    }
  }

  private func damage(_ corpus: [[UInt8]], _ recode: ([UInt8]) throws -> [UInt8]) throws {
    let seed: UInt64 = 0x7e1a
    var mutator = Mutator(seed: seed, corpus: corpus)
    for round in 0..<20_000 {
      let bytes = mutator.next()
      do {
        #expect(try recode(bytes) == bytes, "seed \(seed), round \(round): \(hex(bytes))")
      } catch is CodecError {}
    }
  }
}
