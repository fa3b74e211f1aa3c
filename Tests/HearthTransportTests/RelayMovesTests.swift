import HearthCRDT
import HearthTransport
import Testing

@Suite("Which of a group's mailboxes a device uses")
struct RelayMovesTests {
  @Test("It looks at all lower numbers, at those it has used, and at two ahead")
  func numbers() throws {
    var moves = RelayMoves()
    #expect(moves.lower.isEmpty && moves.higher.isEmpty && moves.ahead == [1, 2])
    moves.go(to: 2)
    #expect(Array(moves.lower) == [0, 1] && moves.higher.isEmpty && moves.ahead == [3, 4])
    moves.go(to: 0)
    #expect(moves.lower.isEmpty && moves.higher == [1, 2] && moves.ahead == [1, 2])
    moves.go(to: 1)
    #expect(Array(moves.lower) == [0] && moves.higher == [2] && moves.ahead == [2, 3])
    #expect(try RelayMoves(decoding: moves.encoded) == moves)
  }

  @Test("It goes to the greatest number and no further, and reads none beyond it")
  func bounds() throws {
    var moves = RelayMoves()
    moves.go(to: RelayMoves.maximum - 1)
    #expect(moves.ahead == [RelayMoves.maximum])
    moves.go(to: RelayMoves.maximum)
    #expect(moves.current == RelayMoves.maximum && moves.ahead.isEmpty)
    #expect(try RelayMoves(decoding: moves.encoded) == moves)
    moves.go(to: RelayMoves.maximum + 1)
    #expect(moves.current == RelayMoves.maximum && moves.furthest == RelayMoves.maximum)
    var writer = ByteWriter()
    writer.varint(0)
    writer.varint(RelayMoves.maximum + 1)
    #expect(throws: CodecError.self) { try RelayMoves(decoding: writer.bytes) }
    #expect(throws: CodecError.self) { try RelayMoves(decoding: writer.bytes + [0]) }
  }
}
