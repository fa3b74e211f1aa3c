import CSodium

#if HEARTH_SIMULATION
  import Synchronization
#endif

/// Random bytes from the operating system, through libsodium.
package enum RandomBytes {
  /// Fills memory with random bytes.
  package static func fill(_ memory: UnsafeMutableRawBufferPointer) {
    if let start = memory.baseAddress { randombytes_buf(start, memory.count) }
  }

  /// Makes an array of random bytes, for values that are not secret (ids, nonces, salts).
  package static func make(_ count: Int) -> [UInt8] {
    Blake2b.array(count) { fill($0) }
  }
}

#if HEARTH_SIMULATION
  /// A seeded source of all random bytes of the process, for the simulator only.
  ///
  /// It is compiled only with `-D HEARTH_SIMULATION`, so that no production program contains it.
  package enum DeterministicRandom {
    private struct Stream {
      var seed = [UInt8](repeating: 0, count: 32)
      var calls: UInt64 = 0
    }
    private static let stream = Mutex(Stream())

    /// Makes every later random byte a function of `seed` and the number of earlier calls.
    ///
    /// Call it before any other use of this module, from one thread. Call it again to restart the
    /// stream.
    package static func install(seed: UInt64) {
      // The start of the library draws its own random bytes, which must not shift the stream.
      _ = sodium_init()
      var hasher = Blake2b.Hasher(count: 32)
      hasher.update("HRTH/simulation/v1" as Domain)
      hasher.update(seed)
      let start = hasher.finalize()
      stream.withLock { $0 = Stream(seed: start, calls: 0) }
      withUnsafeMutablePointer(to: &implementation) { _ = randombytes_set_implementation($0) }
    }

    private static func fill(_ start: UnsafeMutableRawPointer, _ count: Int) {
      stream.withLock { stream in
        var hasher = Blake2b.Hasher(count: 32)
        hasher.update(stream.seed)
        hasher.update(stream.calls)
        stream.calls += 1
        randombytes_buf_deterministic(start, count, hasher.finalize())
      }
    }

    // Never written; libsodium reads it from any thread after `install`.
    nonisolated(unsafe) private static var implementation = randombytes_implementation(
      implementation_name: { simulationName },
      random: {
        var value: UInt32 = 0
        withUnsafeMutableBytes(of: &value) { bytes in
          if let start = bytes.baseAddress { DeterministicRandom.fill(start, bytes.count) }
        }
        return value
      },
      stir: nil,
      uniform: nil,
      buf: { start, count in
        if let start { DeterministicRandom.fill(start, count) }
      },
      close: nil)

    // Points into the program's constants, which nobody can write.
    nonisolated(unsafe) private static let simulationName: UnsafePointer<CChar>? = {
      let name: StaticString = "hearth-simulation"
      return UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    }()
  }
#endif
