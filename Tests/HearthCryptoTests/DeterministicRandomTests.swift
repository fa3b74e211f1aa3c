#if HEARTH_SIMULATION
  import Testing

  @testable import HearthCrypto

  /// Built only with `-D HEARTH_SIMULATION`; to be run alone, since the stream is the process's.
  @Suite("Deterministic randomness", .serialized)
  struct DeterministicRandomTests {
    @Test("one seed gives one stream for keys, nonces and sealed boxes; another seed another")
    func stream() throws {
      func draw(_ seed: UInt64) throws -> [[UInt8]] {
        DeterministicRandom.install(seed: seed)
        return [
          RandomBytes.make(10), RandomBytes.make(10), try SecretKey.random().copied,
          try Fixture.sealFresh([1]),
          try SealedBox.seal([1], to: Fixture.device().publicKeys.boxKey),
        ]
      }
      let first = try draw(7)
      #expect(try draw(7) == first)
      #expect(first[0] != first[1])
      for (left, right) in zip(first, try draw(8)) { #expect(left != right) }
    }
  }
#endif
