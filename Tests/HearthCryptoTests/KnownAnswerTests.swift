import Testing

@testable import HearthCrypto

/// Published answers (RFC 7693, 7748, 8032) and answers of an independent implementation (OpenSSL
/// through Python for Argon2id, CPython's hashlib for BLAKE2b with salt and personalisation).
@Suite("Known answers")
struct KnownAnswerTests {
  @Test("the start-up self test passes, repeatedly and from many tasks")
  func selfTest() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 { group.addTask { try Sodium.initialise() } }
      try await group.waitForAll()
    }
    #expect(try SelfTest.run().checksSignaturePoint == Sodium.findings().checksSignaturePoint)
    #expect(!Sodium.version.isEmpty)
  }

  @Test("RFC 7693: BLAKE2b-512 of abc; the empty message; a keyed 24-byte digest")
  func blake2b() {
    #expect(
      Hex.encode(Blake2b.hash(Array("abc".utf8), count: 64))
        == "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
        + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923")
    #expect(
      Hex.encode(Blake2b.hash([], count: 64))
        == "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"
        + "d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce")
    #expect(
      Hex.encode(Blake2b.hash([UInt8](0..<200), count: 24, key: [UInt8](0..<64)))
        == keyed24)
  }

  private let keyed24 = "863c5ae9f8b8759bcb3c0785e087c6a2f5ad6e278926a531"

  @Test("incremental hashing equals one call, for every split and with keys of both kinds")
  func incremental() throws {
    let message = Fixture.noise(300)
    let key = try Fixture.key(7)
    for split in stride(from: 0, through: 300, by: 7) {
      var plain = Blake2b.Hasher(count: 32)
      plain.update(Array(message[..<split]))
      var fork = plain
      plain.update(Array(message[split...]))
      fork.update(Array(message[split...]))
      #expect(plain.finalize() == Blake2b.hash(message))
      #expect(fork.finalize() == Blake2b.hash(message))
      var keyed = Blake2b.Hasher(count: 16, key: key)
      keyed.update(Array(message[..<split]))
      keyed.update(Array(message[split...]))
      #expect(keyed.finalize() == Blake2b.hash(message, count: 16, key: key.copied))
    }
  }

  @Test("the key derivation is BLAKE2b with the id as salt and the context as personalisation")
  func kdf() throws {
    var bytes = [UInt8](0..<32)
    let key = try SecretKey(consuming: &bytes)
    #expect(bytes.isEmpty)
    #expect(
      Hex.encode(try key.derive(id: 7, context: "HRTHtest").copied)
        == "ca8e363e43ca3d133db920902bb2dfc96060822309fd1c74ef313a6174a4f74f")
  }

  @Test("derived ids delimit their parts")
  func derivedIDs() {
    let id = DerivedID.make(domain: "HRTH/test/v1", Array("ab".utf8), Array("c".utf8))
    #expect(Hex.encode(id) == "88dbeb64b0adc87a324140226eccd047")
    #expect(id != DerivedID.make(domain: "HRTH/test/v1", Array("a".utf8), Array("bc".utf8)))
    #expect(id != DerivedID.make(domain: "HRTH/test/v2", Array("ab".utf8), Array("c".utf8)))
  }

  @Test("RFC 8032: Ed25519 test vectors 1, 2, 3 and SHA(abc)")
  func ed25519() {
    let vectors = [
      (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
          + "5fb8821590a33bacc61e39701cf9b46b"
          + "d25bf5f0595bbe24655141438e7a100b"
      ),
      (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb", "72",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
          + "085ac1e43e15996e458f3613d0f11d8c"
          + "387b2eaeb4302aeeb00d291612bb0c00"
      ),
      (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7", "af82",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
          + "18ff9b538d16f290ae67f760984dc659"
          + "4a7c15e9716ed28dc027beceea1ec40a"
      ),
      (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
          + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
          + "09351fc9ac90b3ecfdfbc7c66431e030"
          + "3dca179c138ac17ad9bef1177331a704"
      ),
    ]
    for (seed, message, key, signature) in vectors {
      let made = Curve25519.sign(seed: Hex.literal(seed), message: Hex.literal(message))
      #expect(Hex.encode(made.key) == key)
      #expect(Hex.encode(made.signature) == signature)
      #expect(Curve25519.verifies(made.signature, message: Hex.literal(message), key: made.key))
    }
  }

  @Test("RFC 7748: X25519 test vectors 1 and 2, the second with a bit that must be ignored")
  func x25519Vectors() {
    let vectors = [
      (
        "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
        "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
        "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
      ),
      (
        "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
        "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
        "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"
      ),
    ]
    for (scalar, point, product) in vectors {
      let made = Curve25519.multiply(scalar: Hex.literal(scalar), point: Hex.literal(point))
      #expect(made == Hex.literal(product))
    }
  }

  @Test("RFC 7748: X25519 after 1 and after 1,000 rounds")
  func x25519() throws {
    var scalar = Hex.literal("0900000000000000000000000000000000000000000000000000000000000000")
    var point = scalar
    for round in 1...1000 {
      let next = try #require(Curve25519.multiply(scalar: scalar, point: point))
      point = scalar
      scalar = next
      if round == 1 {
        #expect(
          Hex.encode(scalar) == "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079")
      }
    }
    #expect(
      Hex.encode(scalar) == "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51")
  }

  @Test("Argon2id agrees with OpenSSL (RFC 9106, one lane)")
  func argon2id() throws {
    let salt = [UInt8](0..<16)
    let phrase = try Fixture.passphrase("correct horse battery staple")
    let small = try phrase.stretch(salt: salt, .testMinimum)
    #expect(
      Hex.encode(small.copied) == "d17ea6341ca93da6079ea2f64dc4aa31dd1aaf9caa67fb42ac4afd0714706f26"
    )
    let larger = try phrase.stretch(salt: salt, KDFParameters(operations: 3, memoryKiB: 1024))
    #expect(
      Hex.encode(larger.copied)
        == "590d7ddd37a1ed86417a3614be47c9f782828a38902390018d39bb6556fee029")
  }
}
