import HearthCRDT
import Testing

/// The one binary search, against looking at every place in turn.
@Suite("Partition point")
struct PartitionPointTests {
  @Test("Every number of elements, split at every place")
  func everySplit() {
    for count in 0...33 {
      let all = Array(0..<count)
      for split in 0...count {
        #expect(all.partitionPoint { $0 >= split } == split, "\(split) of \(count)")
      }
    }
  }

  @Test("A part of an array keeps the places of the whole")
  func slices() {
    let all = Array(0..<20)
    for start in 0...20 {
      for end in start...20 {
        let part = all[start..<end]
        for split in start...end {
          #expect(part.partitionPoint { $0 >= split } == split)
        }
      }
    }
  }

  @Test("Of several elements that are alike it gives the first, and looks at few")
  func alike() {
    let all = [Int](repeating: 1, count: 500) + [Int](repeating: 2, count: 500)
    var looks = 0
    let place = all.partitionPoint { element in
      looks += 1
      return element > 1
    }
    #expect(place == 500)
    #expect(looks <= 10, "\(looks) of 1000")
  }
}
