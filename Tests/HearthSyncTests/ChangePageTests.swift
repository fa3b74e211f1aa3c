import HearthCRDT
import TestSupport
import Testing

/// The page of the change format says what the codec does.
@Suite("The page of the change format")
struct ChangePageTests {
  @Test("each example is one change, spelled in the one way there is", arguments: [1, 2])
  func examples(number: Int) throws {
    let golden = try GoldenFile("change-\(number)")
    let change = try Change(decoding: try #require(bytes(golden.hex)))
    var writer = ByteWriter()
    change.encode(into: &writer)
    #expect(hex(writer.bytes) == golden.hex)
    #expect(change.dot.sequence == UInt64(299 + number))
    #expect(change.operations.count == (number == 1 ? 7 : 2))
    #expect(golden.hasTrueOffsets)
    #expect(try golden.isQuoted(in: "reference/change-format.md"))
  }
}
