import Testing

@testable import Hearth

@Suite("The size of turns that apply segments")
struct TurnSizeTests {
  /// Lets turns take a fixed time and a time for each KiB, and returns their sizes in KiB.
  private func sizes(
    fixedMilliseconds: Double, perKiB: Double, turns: Int = 12, from first: Int = 256
  ) -> [Int] {
    var size = TurnSize(first * 1024)
    return (0..<turns).map { _ in
      let taken = size.byteCount
      size.note(taken, seconds: fixedMilliseconds / 1e3 + perKiB / 1e3 * Double(taken) / 1024)
      return taken / 1024
    }
  }

  @Test("Where the time depends on the bytes, turns become as large as fits in their time")
  func proportional() {
    #expect(sizes(fixedMilliseconds: 0, perKiB: 0.15).dropFirst().allSatisfy { (99...100) ~= $0 })
    #expect(sizes(fixedMilliseconds: 0, perKiB: 0.001).prefix(4) == [256, 512, 1024, 2048])
    #expect(sizes(fixedMilliseconds: 0, perKiB: 0.000_001).last == 8192)
    #expect(sizes(fixedMilliseconds: 0, perKiB: 10).last == 32)
    #expect(sizes(fixedMilliseconds: 5, perKiB: 0.1).dropFirst(3).allSatisfy { (99...100) ~= $0 })
  }

  @Test("Where a turn takes long however small it is, turns become few instead of short")
  func fixed() {
    let found = sizes(fixedMilliseconds: 80, perKiB: 0.01)
    #expect(found.dropFirst(5).allSatisfy { $0 == 256 }, "\(found)")
    // A turn becomes at most twice as long as one that applies nothing.
    #expect(sizes(fixedMilliseconds: 20, perKiB: 0.2).dropFirst(5).allSatisfy { (99...100) ~= $0 })
  }

  @Test("What only a part of a turn took changes nothing, unless it was too long")
  func parts() {
    var size = TurnSize(1024)
    size.note(10, seconds: 0.001)
    #expect(size.byteCount == 1024)
    size.note(0, seconds: 9)
    #expect(size.byteCount == 1024)
    size.note(100, seconds: 1_000)
    #expect(size.byteCount == 32 * 1024)
  }
}
