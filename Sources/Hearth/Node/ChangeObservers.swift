/// The streams by which others learn that a node's data may have changed.
///
/// The node's actor alone uses this.
final class ChangeObservers {
  private var continuations: [Int: AsyncStream<Void>.Continuation] = [:]
  private var nextNumber = 0

  /// Adds a stream of possible changes; several changes may be one element.
  ///
  /// - Parameter ending: called with the stream's number when nobody reads it any more.
  func add(ending: @escaping @Sendable (Int) -> Void) -> AsyncStream<Void> {
    let number = nextNumber
    nextNumber += 1
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    continuation.onTermination = { _ in ending(number) }
    continuations[number] = continuation
    continuation.yield()
    return stream
  }

  /// Forgets the stream with a number.
  func remove(_ number: Int) {
    continuations[number] = nil
  }

  /// Notifies every stream.
  func announce() {
    for number in continuations.keys.sorted() { continuations[number]?.yield() }
  }

  /// Ends every stream.
  func finish() {
    for number in continuations.keys.sorted() { continuations[number]?.finish() }
  }
}
