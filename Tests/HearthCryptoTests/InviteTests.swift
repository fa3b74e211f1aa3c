import Testing

@testable import HearthCrypto

@Suite("Invites and capsules")
struct InviteTests {
  private func invite(_ byte: UInt8 = 0x42) throws -> InviteSecret {
    try InviteSecret(seed: Fixture.secret([UInt8](repeating: byte, count: 16)))
  }

  @Test("an invite's text gives the same keys back, whatever case, spaces and dashes")
  func text() throws {
    let invite = try InviteSecret.random()
    let text = invite.text
    #expect(text.utf8.count == InviteText.characters)
    let grouped = text.enumerated().map { $0 % 4 == 3 ? "\($1)- " : "\($1)" }.joined()
    let spoken = text.replacing("0", with: "o").replacing("1", with: "L")
    for form in [text, text.uppercased(), " \(grouped)\n", spoken, spoken.uppercased()] {
      #expect(try InviteSecret(text: form).publicKeys == invite.publicKeys, "a form of the text")
    }
  }

  @Test("the companion of an invite follows from its seed, and shares no key with it")
  func companion() throws {
    let invite = try InviteSecret(seed: Fixture.secret([UInt8](0..<16)))
    let companion = try invite.companion()
    let seed = try Hex.decode("66aa25613b2ad7c193aa4749fe6a7722")
    #expect(companion.text == (try InviteSecret(seed: Fixture.secret(seed))).text)
    #expect(companion.publicKeys.inviteID != invite.publicKeys.inviteID)
    #expect(companion.publicKeys.boxKey != invite.publicKeys.boxKey)
    #expect(companion.publicKeys.signingKey != invite.publicKeys.signingKey)
    #expect(companion.rendezvousID != invite.rendezvousID)
  }

  @Test("every single wrong character and every swap is noticed, and the place of one is named")
  func typingMistakes() throws {
    let symbols = Array(try invite().text)
    let alphabet = Base32.alphabet.map { Character(Unicode.Scalar($0)) }
    for index in symbols.indices {
      for letter in alphabet where letter != symbols[index] {
        var wrong = symbols
        wrong[index] = letter
        do {
          _ = try InviteText.decode(String(wrong))
          Issue.record("character \(index + 1) as \(letter) was accepted")
        } catch let error as CryptoError {
          #expect(error.code == .malformed)
          #expect(error.message.contains("look at character \(index + 1) first"))
        }
      }
      for other in symbols.indices where other > index && symbols[other] != symbols[index] {
        var wrong = symbols
        wrong.swapAt(index, other)
        #expect(code { _ = try InviteText.decode(String(wrong)) } == .malformed)
      }
    }
  }

  @Test("any two wrong characters are noticed")
  func twoMistakes() throws {
    let symbols = Base32.symbols(Fixture.noise(16))
    let word = symbols + GF32.checkSymbols(symbols)
    for first in 0..<27 {
      for second in (first + 1)..<28 {
        for (left, right) in [(1, 1), (3, 17), (31, 2), (16, 30)] as [(UInt8, UInt8)] {
          var wrong = word
          wrong[first] ^= left
          wrong[second] ^= right
          let text = wrong.map { Character(Unicode.Scalar(Base32.alphabet[Int($0)])) }
          #expect(code { _ = try InviteText.decode(String(text)) } == .malformed)
        }
      }
    }
  }

  @Test("errors say what is wrong: length, character, check, and never show the text")
  func textErrors() throws {
    let text = try invite().text
    func failure(_ text: String) -> CryptoError? {
      do {
        _ = try InviteSecret(text: text)
        return nil
      } catch {
        return error as? CryptoError
      }
    }
    let short = try #require(failure(String(text.dropLast())))
    #expect(short.code == .badLength && short.message.contains("27 characters, 1 missing"))
    let long = try #require(failure(text + "00"))
    #expect(long.code == .badLength && long.message.contains("30 characters, 2 too many"))
    let empty = try #require(failure(""))
    #expect(empty.code == .badLength)
    let strange = try #require(failure("ab!" + text.dropFirst(3)))
    #expect(strange.code == .malformed && strange.message.contains("Character 3"))
    let letterU = try #require(failure("u" + text.dropFirst()))
    #expect(letterU.code == .malformed && letterU.message.contains("Character 1"))
    #expect(failure(String(repeating: "-", count: 257))?.code == .badLength)
    #expect(failure(text + String(repeating: " ", count: 256 - 28)) == nil)
    for error in [short, long, strange] { #expect(!"\(error)".contains(text.dropLast(4))) }
  }

  @Test("fill bits in the last data character are refused although the check fits")
  func fillBits() throws {
    var data = Base32.symbols([UInt8](repeating: 0x42, count: 16))
    data[25] |= 1
    let text = (data + GF32.checkSymbols(data)).map {
      Character(Unicode.Scalar(Base32.alphabet[Int($0)]))
    }
    #expect(code { _ = try InviteText.decode(String(text)) } == .malformed)
  }

  @Test("keys, rendezvous and capsule key differ from each other and between seeds")
  func derivation() throws {
    let first = try invite()
    let second = try invite(0x43)
    #expect(first.publicKeys.inviteID.count == 16 && first.rendezvousID.count == 16)
    #expect(first.publicKeys != second.publicKeys)
    #expect(first.rendezvousID != second.rendezvousID)
    #expect(first.rendezvousID != first.publicKeys.inviteID)
    #expect(first.capsuleKey.copied != second.capsuleKey.copied)
    let keys = try InvitePublicKeys(
      validating: first.publicKeys.signingKey.bytes, box: first.publicKeys.boxKey.bytes)
    #expect(keys == first.publicKeys)
    #expect(code { _ = try InviteSecret(seed: Fixture.secret([1])) } == .badLength)
  }

  @Test("a join proof holds for its hash and invite only")
  func joinProof() throws {
    let invite = try invite()
    let hash = Blake2b.hash([1, 2, 3])
    let proof = invite.sign(hash)
    try invite.publicKeys.verifyJoin(proof, hash)
    #expect(
      code { try invite.publicKeys.verifyJoin(proof, Blake2b.hash([1, 2, 4])) } == .badSignature)
    #expect(
      code { try self.invite(0x43).publicKeys.verifyJoin(proof, hash) } == .badSignature)
    let grant = try SealedBox.seal([5], to: invite.publicKeys.boxKey)
    #expect(try SealedBox.open(grant, with: invite.boxPair) == [5])
  }

  @Test("a capsule comes back for its key and context only")
  func capsule() throws {
    let key = try invite().capsuleKey
    let body = Array("household, relay, heads".utf8)
    let bytes = try Capsule.seal(body, key: key, associatedData: [1])
    #expect(bytes.count == Capsule.overheadBytes + 256)
    #expect(try Capsule.open(bytes, key: key, associatedData: [1]) == body)
    #expect(try Capsule.seal(body, key: key, associatedData: [1]) != bytes)
    #expect(
      code { _ = try Capsule.open(bytes, key: key, associatedData: [2]) } == .authenticationFailed)
    #expect(
      code { _ = try Capsule.open(bytes, key: Fixture.key(1), associatedData: [1]) }
        == .authenticationFailed)
    for bit in 0..<(bytes.count * 8) {
      var damaged = bytes
      damaged[bit / 8] ^= 1 << (bit % 8)
      #expect(code { _ = try Capsule.open(damaged, key: key, associatedData: [1]) } != nil)
    }
    for count in 0..<bytes.count {
      #expect(
        code { _ = try Capsule.open(Array(bytes[..<count]), key: key, associatedData: [1]) }
          == .malformed)
    }
    var version = bytes
    version[4] = 2
    #expect(
      code { _ = try Capsule.open(version, key: key, associatedData: [1]) } == .unsupportedType)
  }

  @Test("bodies of a capsule come back at every length; its limit holds")
  func capsuleLengths() throws {
    let key = try Fixture.key(1)
    for count in stride(from: 0, through: 3000, by: 13) {
      let body = Fixture.noise(count)
      #expect(try Capsule.open(Capsule.seal(body, key: key), key: key) == body)
    }
    let most = 63 * 4096 - 1
    let noise = Fixture.noise(most + 1)
    let full = try Capsule.seal(noise.dropLast(), key: key)
    #expect(full.count <= Capsule.maximumCapsuleBytes)
    #expect(try Capsule.open(full, key: key).count == most)
    #expect(code { _ = try Capsule.seal(noise, key: key) } == .tooLarge)
    let huge = full + [UInt8](repeating: 0, count: Capsule.maximumCapsuleBytes + 1 - full.count)
    #expect(code { _ = try Capsule.open(huge, key: key) } == .tooLarge)
    #expect(code { _ = try Capsule.open(huge.dropLast(), key: key) } == .malformed)
  }

  @Test("negative 24: a ciphertext built to open under two keys opens under one at most")
  func twoKeys() throws {
    // Nonce, 256 bytes and one tag that XChaCha20-Poly1305 accepts under the keys 11… and 22…,
    // found by solving the two Poly1305 equations for two blocks.
    let sealed = Hex.literal(Golden.twoKeyCiphertext)
    let keys = [try Fixture.key(0x11), try Fixture.key(0x22)]
    let context = Capsule.context([])
    for key in keys {
      #expect(try AEAD.open(sealed, associatedData: context, key: key).count == 256)
    }
    for owner in keys {
      let bytes = Array("HRC1".utf8) + [1] + Capsule.commitment(owner, context, sealed) + sealed
      for key in keys {
        let expected: CryptoError.Code = key === owner ? .malformed : .authenticationFailed
        #expect(code { _ = try Capsule.open(bytes, key: key) } == expected)
      }
    }
  }
}
