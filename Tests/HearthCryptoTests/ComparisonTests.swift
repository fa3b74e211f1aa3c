import Testing

@testable import HearthCrypto

@Suite("Comparing face to face")
struct ComparisonTests {
  private func keys(_ byte: UInt8) throws -> DevicePublicKeys {
    try Fixture.device(byte).publicKeys
  }

  private func person(_ id: UInt8, _ devices: UInt8...) throws -> SafetyNumber.Person {
    try SafetyNumber.Person(
      id: [UInt8](repeating: id, count: 16), devices: devices.map { try keys($0) })
  }

  @Test("a safety number is sixty digits, equal for both and for every order of devices")
  func order() throws {
    let number = SafetyNumber(try person(1, 1, 2), try person(2, 3))
    #expect(number.digits.utf8.count == 60 && number.digits.allSatisfy(\.isWholeNumber))
    #expect(number == SafetyNumber(try person(2, 3), try person(1, 2, 1, 2)))
    #expect(number.description.split(separator: " ").map(\.count) == Array(repeating: 5, count: 12))
  }

  @Test("another key, another device, another person: each changes the half it belongs to only")
  func change() throws {
    let number = SafetyNumber(try person(1, 1, 2), try person(2, 3))
    for other in [
      try person(1, 1), try person(1, 1, 4), try person(1, 1, 2, 4), try person(3, 1, 2),
    ] {
      let changed = SafetyNumber(other, try person(2, 3))
      #expect(changed != number)
      let halves = Set([number.digits.prefix(30), number.digits.suffix(30)])
      #expect(
        halves.intersection([changed.digits.prefix(30), changed.digits.suffix(30)]).count == 1)
    }
  }

  @Test("the number of devices is bounded, and an id has 16 bytes")
  func bounds() throws {
    let key = try keys(1)
    func refused(_ id: Int, _ count: Int) -> CryptoError.Code? {
      code {
        _ = try SafetyNumber.Person(
          id: [UInt8](repeating: 0, count: id), devices: Array(repeating: key, count: count))
      }
    }
    #expect(refused(16, 0) == .badLength && refused(16, 1) == nil)
    #expect(refused(16, 1024) == nil && refused(16, 1025) == .badLength)
    #expect(refused(15, 1) == .badLength && refused(17, 1) == .badLength)
  }

  @Test("what is typed is compared without its spaces and dashes, and strictly otherwise")
  func typed() throws {
    let number = SafetyNumber(try person(1, 1), try person(2, 2))
    #expect(number.matches(number.digits) && number.matches(" \(number)\n"))
    #expect(number.matches(number.description.replacing(" ", with: "-")))
    #expect(!number.matches(String(number.digits.dropLast())) && !number.matches(""))
    #expect(!number.matches(number.digits + "0") && !number.matches(number.digits + "x"))
    #expect(!number.matches(number.digits + String(repeating: " ", count: 181)))
    #expect(number.matches(number.digits + String(repeating: " ", count: 180)))
    let fingerprint = FrontierFingerprint(canonicalBytes: [1, 2, 3])
    #expect(fingerprint.digits.utf8.count == 30 && fingerprint.matches(fingerprint.description))
    #expect(!fingerprint.matches(number.digits))
    #expect(fingerprint != FrontierFingerprint(canonicalBytes: [1, 2, 4]))
    #expect(fingerprint != FrontierFingerprint(canonicalBytes: [1, 2, 3, 0]))
  }

  @Test("numbers keep their leading zeros")
  func zeros() {
    #expect(ComparisonDigits.padded(0, digits: 5) == "00000")
    #expect(ComparisonDigits.padded(42, digits: 5) == "00042")
    #expect(ComparisonDigits.padded(99_999, digits: 5) == "99999")
    #expect(ComparisonDigits.grouped("", by: 5) == "")
  }
}

@Suite("Short authentication strings")
struct ShortAuthenticationStringTests {
  private let firstNonce = [UInt8](repeating: 1, count: 32)
  private let secondNonce = [UInt8](repeating: 2, count: 32)

  private func side(
    _ role: ShortAuthenticationString.Role, own: UInt8, peer: UInt8, context: [UInt8] = [9],
    nonce: [UInt8]
  ) throws -> ShortAuthenticationString {
    try ShortAuthenticationString(
      role: role, own: Fixture.device(own).publicKeys, peer: Fixture.device(peer).publicKeys,
      context: context, nonce: nonce)
  }

  private func pair() throws -> (ShortAuthenticationString, ShortAuthenticationString) {
    (
      try side(.initiator, own: 1, peer: 2, nonce: firstNonce),
      try side(.responder, own: 2, peer: 1, nonce: secondNonce)
    )
  }

  @Test("three messages give both sides the same two times six digits")
  func exchange() throws {
    var (first, second) = try pair()
    let commitment = try first.start()
    #expect(first.digits == nil)
    let answer = try #require(try second.receive(commitment))
    #expect(second.digits == nil, "digits before the reveal would let the other side choose")
    let reveal = try #require(try first.receive(answer))
    #expect(try second.receive(reveal) == nil)
    let digits = try #require(first.digits)
    #expect(digits == second.digits)
    #expect(digits.split(separator: " ").map(\.count) == [6, 6])
    #expect([commitment.count, answer.count, reveal.count] == [33, 33, 33])
  }

  @Test("other keys or another context are seen in the commitment, whoever is in between")
  func middle() throws {
    var (first, _) = try pair()
    let commitment = try first.start()
    for var second in [
      try side(.responder, own: 2, peer: 3, nonce: secondNonce),
      try side(.responder, own: 2, peer: 1, context: [8], nonce: secondNonce),
    ] {
      _ = try second.receive(commitment)
      let reveal = [UInt8(3)] + firstNonce
      #expect(code { _ = try second.receive(reveal) } == .authenticationFailed)
      #expect(second.digits == nil)
    }
  }

  @Test("somebody in between with keys of his own gets other digits on each side")
  func relayedKeys() throws {
    var first = try side(.initiator, own: 1, peer: 7, nonce: firstNonce)
    var towardsFirst = try side(.responder, own: 7, peer: 1, nonce: Fixture.noise(32))
    var towardsSecond = try side(.initiator, own: 7, peer: 2, nonce: Fixture.noise(32))
    var second = try side(.responder, own: 2, peer: 7, nonce: secondNonce)
    let firstAnswer = try #require(try towardsFirst.receive(first.start()))
    _ = try towardsFirst.receive(#require(try first.receive(firstAnswer)))
    let secondAnswer = try #require(try second.receive(towardsSecond.start()))
    _ = try second.receive(#require(try towardsSecond.receive(secondAnswer)))
    #expect(first.digits != nil && second.digits != nil && first.digits != second.digits)
  }

  @Test("a nonce chosen after the reveal does not fit the commitment")
  func lateChoice() throws {
    var (first, second) = try pair()
    _ = try second.receive(try first.start())
    let other = [UInt8(3)] + [UInt8](repeating: 5, count: 32)
    #expect(code { _ = try second.receive(other) } == .authenticationFailed)
    let right = [UInt8(3)] + firstNonce
    #expect(code { _ = try second.receive(right) } == .malformed, "it is over after an error")
  }

  @Test("a message out of turn, of another kind, or sent back ends the exchange")
  func outOfTurn() throws {
    let (first, second) = try pair()
    let nonce = [UInt8(2)] + secondNonce
    var twice = first
    _ = try twice.start()
    #expect(code { _ = try twice.start() } == .malformed)
    var responder = second
    #expect(code { _ = try responder.start() } == .malformed)
    for message in [
      nonce, [3] + firstNonce, [0] + firstNonce, [4] + firstNonce, [], [1], nonce + [0],
    ] {
      var side = second
      #expect(code { _ = try side.receive(message) } == .malformed)
      #expect(code { _ = try side.receive([1] + firstNonce) } == .malformed)
    }
    var early = first
    #expect(code { _ = try early.receive(nonce) } == .malformed)
    var mirrored = first
    _ = try mirrored.start()
    #expect(code { _ = try mirrored.receive([2] + firstNonce) } == .authenticationFailed)
  }

  @Test("nonce and context have their lengths, and nobody is compared with himself")
  func bounds() throws {
    #expect(code { _ = try side(.initiator, own: 1, peer: 1, nonce: firstNonce) } == .badKey)
    for count in [31, 33] {
      let nonce = [UInt8](repeating: 1, count: count)
      #expect(code { _ = try side(.initiator, own: 1, peer: 2, nonce: nonce) } == .badLength)
    }
    let context = [UInt8](repeating: 0, count: 1024)
    _ = try side(.initiator, own: 1, peer: 2, context: context, nonce: firstNonce)
    #expect(
      code { _ = try side(.initiator, own: 1, peer: 2, context: context + [0], nonce: firstNonce) }
        == .badLength)
  }
}
