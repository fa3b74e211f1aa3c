import HearthCRDT
import HearthMembership
import TestSupport
import Testing

@testable import HearthSync

@Suite("Verified signatures of a control log in the store")
struct StoredProofsTests {
  @Test("A start uses what an earlier run verified, and verifies what it did not")
  func restart() throws {
    let family = try EngineFamily(3)
    for member in family.members {
      let name = "cache.proofs.\(family.group.hex)"
      let people = member.membership(of: family.group).people.count
      #expect(people == 3)
      let bytes = try #require(member.store.facts.bytes(of: name))
      let proofs = member.membership(of: family.group).proofs
      #expect(try ProofBook(decoding: bytes).count == proofs.count)

      // That no signature holds is believed, so nothing was verified again.
      var none = ByteWriter()
      var reader = ByteReader(bytes)
      let count = try reader.varint("proofs", atMost: 99)
      #expect(count > 2)
      none.varint(count)
      for _ in 0..<count {
        none.identifier(try reader.identifier("digest"))
        _ = try reader.byte("result")
        none.byte(0)
      }
      func store(_ value: [UInt8]) throws {
        try member.store.transaction { try member.store.facts.setBytes(of: name, to: value) }
      }
      try store(none.bytes)
      #expect(try EngineFamily.reopened(member).membership(of: family.group).people.isEmpty)

      // Without the fact everything is verified.
      var empty = ByteWriter()
      empty.varint(0)
      try store(empty.bytes)
      #expect(try EngineFamily.reopened(member).membership(of: family.group).people.count == people)
      try store(bytes)
    }
  }

  @Test("Results are read back as written, and nothing else is")
  func encoding() throws {
    let proofs = try EngineFamily(2)
    let book = proofs.members[0].membership(of: proofs.group).proofs
    let bytes = book.encoded
    #expect(try ProofBook(decoding: bytes).encoded == bytes)
    for count in 0..<bytes.count {
      #expect(throws: CodecError.self) { try ProofBook(decoding: Array(bytes.prefix(count))) }
    }
    #expect(throws: CodecError.self) { try ProofBook(decoding: bytes + [0]) }
    #expect(throws: CodecError.self) { try ProofBook(decoding: Array(bytes.dropLast()) + [2]) }
    var many = ByteWriter()
    many.varint(ProofBook.maximumStored + 1)
    #expect(throws: CodecError.self) { try ProofBook(decoding: many.bytes) }
  }
}
