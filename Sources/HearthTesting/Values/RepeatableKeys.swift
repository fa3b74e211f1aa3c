import Hearth
import Synchronization

/// Keys of new records that follow from a seed.
public enum RepeatableKeys {
  private final class Source: Sendable {
    private let generator: Mutex<SeededGenerator>

    init(seed: UInt64) {
      generator = Mutex(SeededGenerator(seed: seed))
    }

    func provide<Result>(to body: () async throws -> Result) async rethrows -> Result {
      try await KeySource.$next.withValue(
        { self.generator.withLock { $0.identifier() } }, operation: body)
    }
  }

  /// Runs a body in which every new ``Key`` follows from a seed.
  ///
  /// Records without another order are shown in the order of their keys, so a test of them can be
  /// repeated only with this. It covers the body's own task and its child tasks.
  ///
  /// - Returns: the body's result.
  public static func from<Result>(
    seed: UInt64, _ body: () async throws -> Result
  ) async rethrows -> Result {
    try await Source(seed: seed).provide(to: body)
  }
}
