import HearthCRDT
import TestSupport
import Testing

@Suite("Bytes of texts")
struct TextCodecTests {
  private static let authors = (1...3).map {
    Author(device: Identifier(high: 9, low: UInt64($0)), incarnation: 1)
  }
  private static let table = AuthorTable(authors)

  /// A text by three authors who have all seen everything, with its edits.
  private func random(_ random: inout SplitMix64) -> (text: TextSequence, edits: [(Dot, TextEdit)])
  {
    var (text, known) = (TextSequence(), Frontier())
    var edits: [(Dot, TextEdit)] = []
    for _ in 0..<random.below(14) {
      let author = random.pick(TextCodecTests.authors)
      let dot = Dot(author: author, sequence: known[author] + 1)
      for _ in 0...random.below(2) {
        let order = TextOrder(text)
        var made: [TextEdit] = []
        if order.count > 0, random.oneIn(3) {
          let start = random.below(order.count)
          made = order.erasure(of: start..<min(order.count, start + 1 + random.below(3)))
        } else {
          let added = random.pick(["x", "Grüße", "🏡 e\u{301}", "\n"])
          made = [order.insertion(of: added, at: random.below(order.count + 1))]
        }
        for edit in made {
          text.apply(edit, dot: dot, past: known)
          edits.append((dot, edit))
        }
      }
      known.advance(author, to: dot.sequence)
    }
    return (text, edits)
  }

  private func encoded(_ text: TextSequence) -> [UInt8] {
    var writer = ByteWriter()
    text.encode(into: &writer, authors: TextCodecTests.table)
    return writer.bytes
  }

  private func decoded(_ bytes: [UInt8]) throws(CodecError) -> TextSequence {
    var reader = ByteReader(bytes)
    let text = try TextSequence(from: &reader, authors: TextCodecTests.table)
    try reader.finish()
    return text
  }

  @Test("A text is read back however long its authors made it together")
  func long() throws {
    var text = TextSequence()
    let piece = String(repeating: "a", count: 65_000)
    let author = TextCodecTests.authors[0]
    let count = UInt64(Limits.maximumTextCharacters / 65_000 + 2)
    for sequence in 1...count {
      let dot = Dot(author: author, sequence: sequence)
      text.apply(.insert(piece, .start), dot: dot, past: Frontier())
      guard sequence > 2 else { continue }
      let span = TextSpan(first: TextPlace(dot: dot, offset: 0), count: 65_000)
      text.apply(.erase(span), dot: dot, past: Frontier())
    }
    #expect(text.runs.reduce(0) { $0 + $1.count } > Limits.maximumTextCharacters)
    #expect(try decoded(encoded(text)) == text)
  }

  @Test("A text and its edits are what their bytes say")
  func roundTrips() throws {
    for seed in 0..<400 as Range<UInt64> {
      var random = SplitMix64(seed: seed)
      let (text, edits) = self.random(&random)
      #expect(try decoded(encoded(text)) == text, "seed \(seed)")
      for (dot, edit) in edits {
        #expect(try TextEdit(decoding: edit.encoded(in: dot), in: dot) == edit, "seed \(seed)")
      }
    }
  }

  @Test("Bytes that were changed are refused, or are the only bytes of another text")
  func mutations() {
    for seed in 0..<400 as Range<UInt64> {
      var random = SplitMix64(seed: 10_000 + seed)
      let (text, edits) = self.random(&random)
      for _ in 0..<30 {
        let bytes = mutated(encoded(text), &random)
        if let read = try? decoded(bytes) {
          #expect(encoded(read) == bytes, "seed \(seed)")
          _ = TextOrder(read).text
        }
        guard let (dot, edit) = edits.first else { continue }
        let others = mutated(edit.encoded(in: dot), &random)
        if let read = try? TextEdit(decoding: others, in: dot) {
          #expect(read.encoded(in: dot) == others, "seed \(seed)")
        }
      }
    }
  }

  private func mutated(_ bytes: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
    var bytes = bytes
    guard !bytes.isEmpty else { return bytes }
    switch random.below(4) {
    case 0: bytes.removeLast(1 + random.below(bytes.count))
    case 1: bytes.insert(UInt8(random.below(256)), at: random.below(bytes.count + 1))
    case 2: bytes.remove(at: random.below(bytes.count))
    default: bytes[random.below(bytes.count)] = UInt8(random.pick([0, 1, 2, 3, 127, 128, 255]))
    }
    return bytes
  }

  @Test("A few bytes cannot claim a text of many characters")
  func claims() {
    var writer = ByteWriter()
    writer.varint(1)
    writer.varint(0)
    writer.varint(1)
    writer.byte(0)
    writer.varint(UInt64.max)
    writer.byte(1)
    writer.text("")
    #expect(throws: CodecError.self) { try decoded(writer.bytes) }
  }

  @Test("What somebody types on takes few bytes")
  func sizes() {
    let ann = TextCodecTests.authors[0]
    var (text, known) = (TextSequence(), Frontier())
    for number in 0..<100 {
      let dot = Dot(author: ann, sequence: known[ann] + 1)
      let edit = TextOrder(text).insertion(of: "a", at: number)
      #expect(edit.encoded(in: dot).count <= 4)
      text.apply(edit, dot: dot, past: known)
      known.advance(ann, to: dot.sequence)
    }
    #expect(encoded(text).count <= 100 * 6 + 10)
  }
}
