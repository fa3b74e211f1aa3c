import Testing

@testable import HearthCrypto

@Suite("Secrets")
struct SecretTests {
  @Test("taking over bytes zeroes the source, also when the length is wrong")
  func consuming() throws {
    var bytes = [UInt8](repeating: 0x5a, count: 32)
    let key = try SecretKey(consuming: &bytes)
    #expect(bytes.isEmpty && key.copied == [UInt8](repeating: 0x5a, count: 32))
    var short = [UInt8](repeating: 0x5a, count: 31)
    #expect(code { _ = try SecretKey(consuming: &short) } == .badLength)
    #expect(short.isEmpty)
  }

  @Test("zeroing reaches the memory of the array itself")
  func zeroing() {
    var bytes = [UInt8](repeating: 0x5a, count: 32)
    bytes.withUnsafeMutableBytes { memory in
      zeroise(memory)
      #expect(memory.allSatisfy { $0 == 0 })
    }
  }

  @Test("random keys differ, derived keys differ by id and context and repeat")
  func derivation() throws {
    let key = try SecretKey.random()
    #expect(try key.copied != SecretKey.random().copied)
    let derived = try key.derive(id: 1, context: "HRTHtest").copied
    #expect(try derived == key.derive(id: 1, context: "HRTHtest").copied)
    #expect(try derived != key.derive(id: 2, context: "HRTHtest").copied)
    #expect(try derived != key.derive(id: 1, context: "HRTHtesu").copied)
  }

  @Test("a MAC delimits its parts and depends on key, domain and length")
  func mac() throws {
    let key = try Fixture.key(1)
    let mac = key.mac(domain: "HRTH/test/v1", [1, 2], [3])
    #expect(mac.count == 32 && mac == key.mac(domain: "HRTH/test/v1", [1, 2], [3]))
    #expect(mac != key.mac(domain: "HRTH/test/v1", [1], [2, 3]))
    #expect(mac != key.mac(domain: "HRTH/test/v2", [1, 2], [3]))
    #expect(try mac != Fixture.key(2).mac(domain: "HRTH/test/v1", [1, 2], [3]))
    #expect(key.mac(count: 16, domain: "HRTH/test/v1", [1, 2], [3]) != Array(mac[..<16]))
  }

  @Test("secret bytes of any length compare, convert and refuse a wrong length")
  func secretBytes() throws {
    let empty = try Fixture.secret([])
    #expect(empty.count == 0 && empty.copied.isEmpty)
    let one = try Fixture.secret([1, 2, 3])
    #expect(try one.isEqual(to: Fixture.secret([1, 2, 3])))
    #expect(try !one.isEqual(to: Fixture.secret([1, 2, 4])))
    #expect(!one.isEqual(to: empty))
    #expect(code { _ = try one.key() } == .badLength)
    let key = try Fixture.key(4)
    #expect(try SecretBytes(key).key().copied == key.copied)
    #expect(try SecretBytes.random(count: 100).copied != SecretBytes.random(count: 100).copied)
  }

  @Test("an error while filling guarded memory passes through and frees it")
  func failingFill() {
    for _ in 0..<1000 {
      #expect(code { _ = try SecretKey { _ in throw CryptoError.authentication } } != nil)
    }
  }

  @Test("no secret shows itself in print, debug output, dump, Mirror or an error")
  func redaction() throws {
    let key = try Fixture.key(0x5a)
    let values: [Any] = [
      key, try Fixture.secret([UInt8](repeating: 0x5a, count: 40)),
      try DeviceIdentity(master: key), try SigningKeyPair(seed: key), try BoxKeyPair(seed: key),
      try EpochKey(secret: key, groupID: Fixture.groupID, zoneID: Fixture.zoneID),
      try ZoneSecret(secret: key), try Fixture.passphrase("ZZZZZZZZZZ"),
      try InviteSecret(seed: Fixture.secret([UInt8](repeating: 0x5a, count: 16))),
    ]
    for value in values {
      let name = "\(type(of: value))(redacted)"
      var dumped = ""
      dump(value, to: &dumped)
      let mirror = Mirror(reflecting: value)
      #expect(String(describing: value) == name)
      #expect(String(reflecting: value) == name)
      #expect(dumped == "- \(name) #0\n")
      #expect(mirror.children.isEmpty && mirror.superclassMirror == nil)
    }
    #expect("\([key])" == "[SecretKey(redacted)]")
  }

  @Test("errors are equal by code and say code and message")
  func errors() {
    let first = CryptoError(.malformed, "one", cause: CryptoError.authentication)
    #expect(first == CryptoError(.malformed, "two") && first != CryptoError(.tooLarge, "one"))
    #expect("\(first)" == "malformed: one")
    #expect(first.cause as? CryptoError == .authentication)
    #expect("\(CryptoError.Code.badKey)" == "badKey")
  }

  @Test("the memory of a process can be hidden from core dumps and debuggers")
  func hiddenMemory() throws {
    try ProcessMemory.hide()
    #expect(ProcessMemory.isHidden)
    try ProcessMemory.hide()
    #expect(ProcessMemory.isHidden)
  }

  @Test("hexadecimal and base 32 come back and refuse what is not theirs")
  func codecs() throws {
    for count in 0...40 {
      let bytes = Fixture.noise(count)
      #expect(try Hex.decode(Hex.encode(bytes)) == bytes)
      let text = Base32.encode(bytes)
      #expect(text.utf8.count == (count * 8 + 4) / 5)
      #expect(try Base32.decode(text) == bytes)
    }
    #expect(try Hex.decode("aBcD") == [0xab, 0xcd])
    for text in ["a", "ag", "0x", " 0", "é"] {
      #expect(code { _ = try Hex.decode(text) } == .malformed, "\(text)")
    }
    #expect(Base32.encode([0xff, 0x00]) == "zw00")
    for text in ["0", "u0", "Z0", "zw01", "000", "000000", "z-0"] {
      #expect(code { _ = try Base32.decode(text) } == .malformed, "\(text)")
    }
  }

  @Test("AEAD seals anew each time and refuses another context, key or length")
  func aead() throws {
    let key = try Fixture.key(1)
    let sealed = AEAD.seal([1, 2, 3], associatedData: [9], key: key)
    #expect(sealed.count == 3 + AEAD.overheadBytes)
    #expect(sealed != AEAD.seal([1, 2, 3], associatedData: [9], key: key))
    #expect(try AEAD.open(sealed, associatedData: [9], key: key) == [1, 2, 3])
    let empty = AEAD.seal([], associatedData: [], key: key)
    #expect(try AEAD.open(empty, associatedData: [], key: key) == [])
    let attempts: [() throws -> Void] = [
      { _ = try AEAD.open(sealed, associatedData: [8], key: key) },
      { _ = try AEAD.open(sealed, associatedData: [9], key: Fixture.key(2)) },
      { _ = try AEAD.open(sealed.dropLast(), associatedData: [9], key: key) },
      { _ = try AEAD.open([], associatedData: [9], key: key) },
    ]
    for attempt in attempts { #expect(code(attempt) == .authenticationFailed) }
  }
}
