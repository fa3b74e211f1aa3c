import TestSupport
import Testing

@testable import HearthCRDT

/// A list in pieces, against an array.
@Suite("Sorted lists in pieces")
struct SortedPiecesTests {
  @Test("Insertions, changes and removals at random places give what an array gives")
  func againstArray() {
    var random = SplitMix64(seed: 3)
    var pieces = SortedPieces<[Int]>()
    var array: [[Int]] = []
    for round in 0..<6_000 {
      let number = random.below(3_000)
      let place = pieces.place { $0[0] >= number }
      let expected = array.partitionPoint { $0[0] >= number }
      #expect(pieces[place] == (expected < array.count ? array[expected] : nil))
      if pieces[place]?.first != number {
        let inserted = pieces.insert([number], at: place)
        array.insert([number], at: expected)
        #expect(pieces[inserted] == [number], "round \(round)")
      } else if random.oneIn(3) {
        pieces.remove(at: place)
        array.remove(at: expected)
      } else {
        pieces.change(at: place) { $0.append(round) }
        array[expected].append(round)
      }
    }
    #expect(array.count > 1_024)
    #expect(pieces.items == array)
    #expect(pieces == SortedPieces(array))
    while let number = array.popLast()?[0] { pieces.remove(at: pieces.place { $0[0] >= number }) }
    #expect(pieces.items.isEmpty && pieces == SortedPieces())
  }

  @Test("Items that are given in order are found wherever pieces begin and end")
  func inOrder() {
    for count in [0, 1, 511, 512, 513, 2_000] {
      var pieces = SortedPieces(Array(0..<count))
      #expect(pieces.items == Array(0..<count))
      for number in 0..<count { #expect(pieces[pieces.place { $0 >= number }] == number) }
      #expect(pieces[pieces.end] == nil && pieces[pieces.place { $0 >= count }] == nil)
      pieces.insert(count, at: pieces.end)
      #expect(pieces.items == Array(0...count))
    }
  }
}
