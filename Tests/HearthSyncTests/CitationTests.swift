import HearthCRDT
import TestSupport
import Testing

@testable import HearthMembership
@testable import HearthSync

@Suite("Citations")
struct CitationTests {
  private let authors = (1...3).map { Author(device: EngineFamily.id($0), incarnation: 7) }
  private let hash = (0..<32 as Range<UInt8>).map { $0 }

  @Test("Citations have the bytes of the page and one spelling")
  func bytes() {
    let one = Citation(author: authors[0], chainHash: hash)
    let encoded = Citation.encoded([one])
    #expect(
      hex(encoded)
        == "01" + "00000000000000fa0000000000000001" + "0000000000000007"
        + "000102030405060708090a0b0c0d0e0f")
    #expect(Citation.decoded(encoded) == [one])
    #expect(Citation.decoded(encoded + [0]).isEmpty)
    for count in encoded.indices { #expect(Citation.decoded(Array(encoded.prefix(count))).isEmpty) }
    let two = Citation(author: authors[1], chainHash: hash)
    #expect(Citation.decoded(Citation.encoded([one, two])) == [one, two])
    #expect(Citation.decoded(Citation.encoded([two, one])).isEmpty)
    #expect(Citation.decoded(Citation.encoded([one, one])).isEmpty)
  }

  @Test("No more citations are read than a zone may have authors")
  func bound() {
    let many = (0...Limits.maximumAuthors).map {
      Citation(
        author: Author(device: EngineFamily.id(1), incarnation: UInt64($0)), chainHash: hash)
    }
    #expect(Citation.decoded(Citation.encoded(many)).isEmpty)
    #expect(Citation.decoded(Citation.encoded(Array(many.dropLast()))).count == many.count - 1)
  }

  @Test("The first operation of a change cites every log that the change newly saw")
  func written() throws {
    let family = try EngineFamily(3)
    let control = try family.members[0].zone(family.control)
    let events = try family.members[0].store.records.events(
      of: ControlOperation.type, in: family.control)
    let join = try #require(
      events.first { $0.1.version.dot.author == family.members[2].author }?.1)
    let cited = Citation.of(join.fields)
    #expect(!cited.isEmpty)
    #expect(cited.map(\.author) == join.cause?.entries.map(\.author))
    for citation in cited
    where control.head(of: citation.author).sequence
      == join.cause?[citation.author]
    {
      #expect(citation.hash == Array(control.head(of: citation.author).hash.prefix(16)))
    }
  }
}
