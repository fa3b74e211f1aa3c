import HearthCRDT
import TestSupport
import Testing

@Suite("The columns of a batch")
struct ChangeBatchTests {
  @Test("a decoded batch has the canonical bytes of every change, and encodes to itself")
  func roundTrip() throws {
    for seed in 0..<400 {
      var random = SplitMix64(seed: UInt64(seed))
      let changes = random.batch(count: random.below(random.oneIn(10) ? 200 : 12) + 1)
      let bytes = ChangeBatch.encode(changes)
      var decoded = try ChangeBatch.decode(
        bytes, incarnation: changes[0].dot.author.incarnation, first: changes[0].dot.sequence)
      #expect(decoded.count == changes.count, "seed \(seed)")
      #expect(decoded.dropFirst().allSatisfy { $0.previousHash.isEmpty }, "seed \(seed)")
      #expect(decoded[0].previousHash == changes[0].previousHash, "seed \(seed)")
      for place in decoded.indices {
        decoded[place].previousHash = changes[place].previousHash
        #expect(canonical(decoded[place]) == canonical(changes[place]), "seed \(seed)")
      }
      #expect(ChangeBatch.encode(decoded) == bytes, "seed \(seed)")
    }
  }
}
