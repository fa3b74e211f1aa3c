import Testing

@testable import HearthCrypto

@Suite("Key files")
struct KeyFileTests {
  private func secrets() throws -> [SecretBytes] {
    [try Fixture.secret(Fixture.noise(32)), try Fixture.secret([]), try Fixture.secret([7])]
  }

  private func sealTest(_ secrets: [SecretBytes], _ phrase: String = "right") throws -> [UInt8] {
    try KeyFile.seal(
      secrets, passphrase: Fixture.passphrase(phrase), parameters: .testMinimum, bounds: .testing)
  }

  @Test("secrets come back in order, with and without a passphrase")
  func roundTrip() throws {
    let secrets = try secrets()
    let plain = try KeyFile.seal(secrets, passphrase: nil)
    #expect(plain.count == 62 + 40 + 1024)
    #expect(try KeyFile.mode(of: plain) == .plain && KeyFile.parameters(of: plain) == nil)
    #expect(try KeyFile.open(plain, passphrase: nil).map(\.copied) == secrets.map(\.copied))
    let phrase = try Fixture.passphrase("anything")
    #expect(try KeyFile.open(plain, passphrase: phrase).count == 3)

    let locked = try sealTest(secrets)
    #expect(try KeyFile.mode(of: locked) == .passphrase)
    #expect(try KeyFile.parameters(of: locked) == .testMinimum)
    let opened = try KeyFile.open(
      locked, passphrase: Fixture.passphrase("right"), bounds: .testing)
    #expect(opened.map(\.copied) == secrets.map(\.copied))
    #expect(try sealTest(secrets) != locked)
    #expect(KeyFile.requiredFileMode == 0o600)
  }

  @Test("production parameters work and are what the file states", .timeLimit(.minutes(20)))
  func production() throws {
    let smallest = KDFParameters(operations: 2, memoryKiB: 64 << 10)
    let file = try KeyFile.seal(
      secrets(), passphrase: Fixture.passphrase("p"), parameters: smallest)
    #expect(try KeyFile.open(file, passphrase: Fixture.passphrase("p")).count == 3)
  }

  @Test("a wrong or missing passphrase is told as such")
  func wrongPassphrase() throws {
    let file = try sealTest(secrets())
    for phrase in ["wrong", "righ", "right "] {
      #expect(
        code {
          _ = try KeyFile.open(file, passphrase: Fixture.passphrase(phrase), bounds: .testing)
        } == .wrongPassphrase)
    }
    #expect(
      code { _ = try KeyFile.open(file, passphrase: nil, bounds: .testing) } == .wrongPassphrase)
  }

  @Test("passphrases have 1 to 1,024 bytes")
  func passphraseLimits() {
    for (count, isAccepted) in [(0, false), (1, true), (1024, true), (1025, false)] {
      var bytes = [UInt8](repeating: 65, count: count)
      let result = code { _ = try Passphrase(consuming: &bytes) }
      #expect(result == (isAccepted ? nil : .badLength), "\(count)")
      #expect(bytes.isEmpty)
    }
  }

  @Test("every bit flip and truncation of a plain file is refused")
  func plainDamage() throws {
    let file = try KeyFile.seal(secrets(), passphrase: nil)
    for bit in 0..<(file.count * 8) {
      var damaged = file
      damaged[bit / 8] ^= 1 << (bit % 8)
      #expect(code { _ = try KeyFile.open(damaged, passphrase: nil) } != nil, "bit \(bit)")
    }
    for count in 0..<file.count {
      #expect(code { _ = try KeyFile.open(Array(file[..<count]), passphrase: nil) } == .malformed)
    }
    #expect(code { _ = try KeyFile.open(file + [0], passphrase: nil) } == .malformed)
  }

  @Test("every flipped byte of a locked file is refused")
  func lockedDamage() throws {
    let file = try sealTest(secrets())
    let phrase = try Fixture.passphrase("right")
    for index in file.indices {
      // A flipped high byte of the memory size or pass count asks for real work; it is refused by
      // the bounds, and the lowest bits are tried in the commitment.
      var damaged = file
      damaged[index] ^= 0x80
      let isCost = 6..<14 ~= index
      #expect(
        code {
          _ = try KeyFile.open(damaged, passphrase: phrase, bounds: isCost ? .production : .testing)
        } != nil, "byte \(index)")
    }
  }

  @Test("negative 24: Argon2 costs outside the bounds are refused before any work")
  func costBounds() throws {
    let file = try sealTest(secrets())
    let phrase = try Fixture.passphrase("right")
    func open(_ operations: UInt32, _ memoryKiB: UInt32) -> CryptoError.Code? {
      var changed = file
      changed.withUnsafeMutableBytes {
        $0.storeBigEndian(operations, at: 6)
        $0.storeBigEndian(memoryKiB, at: 10)
      }
      return code { _ = try KeyFile.open(changed, passphrase: phrase) }
    }
    let start = ContinuousClock.now
    #expect(open(1, 8) == .weakParameters)
    #expect(open(1, 65_536) == .weakParameters)
    #expect(open(11, 65_536) == .weakParameters)
    #expect(open(2, 65_535) == .weakParameters)
    #expect(open(2, 1_048_577) == .weakParameters)
    #expect(open(3, 4 << 20) == .weakParameters)
    #expect(open(.max, .max) == .weakParameters)
    #expect(start.duration(to: .now) < .seconds(5))
    #expect(open(2, 65_536) == .wrongPassphrase)
    try KDFParameters.Bounds.production.check(KDFParameters(operations: 10, memoryKiB: 1 << 20))
    for parameters in [KDFParameters.interactive, .moderate] {
      try KDFParameters.Bounds.production.check(parameters)
    }
    #expect(
      code {
        _ = try KeyFile.seal([], passphrase: phrase, parameters: .testMinimum)
      } == .weakParameters)
  }

  @Test("another version, mode, or a plain file with costs is refused")
  func header() throws {
    let file = try KeyFile.seal(secrets(), passphrase: nil)
    for (index, value, expected) in [
      (0, 0x68, .malformed), (4, 2, .unsupportedType), (4, 0, .unsupportedType),
      (5, 2, .unsupportedType), (9, 1, .malformed), (13, 1, .malformed),
    ] as [(Int, UInt8, CryptoError.Code)] {
      var changed = file
      changed[index] = value
      #expect(code { _ = try KeyFile.open(changed, passphrase: nil) } == expected, "\(index)")
      #expect(code { _ = try KeyFile.mode(of: changed) } == expected)
    }
  }

  @Test("negative 30: limits of a key file hold at the value and break one above")
  func limits() throws {
    let one = try Fixture.secret([1])
    let most = [SecretBytes](repeating: one, count: KeyFile.maximumSecrets)
    #expect(try KeyFile.open(KeyFile.seal(most, passphrase: nil), passphrase: nil).count == 64)
    #expect(code { _ = try KeyFile.seal(most + [one], passphrase: nil) } == .tooLarge)

    let long = try SecretBytes.random(count: KeyFile.maximumSecretBytes)
    #expect(
      try KeyFile.open(KeyFile.seal([long], passphrase: nil), passphrase: nil)[0].isEqual(to: long))
    let longer = try SecretBytes.random(count: KeyFile.maximumSecretBytes + 1)
    #expect(code { _ = try KeyFile.seal([longer], passphrase: nil) } == .tooLarge)

    let bodyBytes = (KeyFile.maximumFileBytes - 62 - 40) / 1024 * 1024
    let fifteen = [SecretBytes](repeating: long, count: 15)
    let rest = bodyBytes - 1 - 2 - 15 * (4 + 4096) - 4
    let full = try KeyFile.seal(fifteen + [.random(count: rest)], passphrase: nil)
    #expect(full.count <= KeyFile.maximumFileBytes)
    #expect(try KeyFile.open(full, passphrase: nil).count == 16)
    #expect(
      code { _ = try KeyFile.seal(fifteen + [.random(count: rest + 1)], passphrase: nil) }
        == .tooLarge)
    let huge = full + [UInt8](repeating: 0, count: KeyFile.maximumFileBytes + 1 - full.count)
    #expect(code { _ = try KeyFile.open(huge, passphrase: nil) } == .tooLarge)
    #expect(code { _ = try KeyFile.open(huge.dropLast(), passphrase: nil) } == .malformed)
  }

  @Test("negative 30: lengths that lie inside a well-sealed body are refused")
  func lyingBody() throws {
    func open(_ content: [UInt8]) throws -> CryptoError.Code? {
      let body = content + [0x80] + [UInt8](repeating: 0, count: 1024 - content.count - 1)
      let file = try KeyFile.sealBody(Fixture.secret(body))
      return code { _ = try KeyFile.open(file, passphrase: nil) }
    }
    #expect(try open([0, 1, 0, 0, 0, 1, 9]) == nil)
    #expect(try open([0, 1, 0, 0, 0, 2, 9]) == .malformed)
    #expect(try open([0, 1, 0xff, 0xff, 0xff, 0xff, 9]) == .malformed)
    #expect(try open([0, 1, 0, 0, 0, 1, 9, 9]) == .malformed)
    #expect(try open([0, 2, 0, 0, 0, 1, 9]) == .malformed)
    #expect(try open([0xff, 0xff, 0, 0, 0, 1, 9]) == .malformed)
    #expect(try open([0, 1, 0, 0]) == .malformed)
    #expect(try open([0]) == .malformed)
    #expect(try open([]) == .malformed)
    let unpadded = try KeyFile.sealBody(Fixture.secret([UInt8](repeating: 0, count: 1024)))
    #expect(code { _ = try KeyFile.open(unpadded, passphrase: nil) } == .malformed)
  }
}

extension KeyFile {
  /// A plain file around any body.
  fileprivate static func sealBody(_ body: SecretBytes) throws -> [UInt8] {
    try protect(
      body, nil, .moderate, .production, salt: Fixture.zoneID, random: Fixture.random)
  }
}
