import HearthCRDT
import HearthStore

/// The streams by which others learn that a node's data may have changed.
///
/// The node's actor alone uses this.
final class ChangeObservers {
  /// One stream, and what it is about.
  private struct Observer {
    let continuation: AsyncStream<Void>.Continuation
    /// What it has read of a zone's records; nil if everything concerns it.
    var interest: (zone: ZoneID, fields: [TypeID: Set<FieldID>])?
  }

  private var observers: [Int: Observer] = [:]
  private var nextNumber = 0

  /// Adds a stream of possible changes; several changes may be one element.
  ///
  /// - Parameter ending: called with the stream's number when nobody reads it any more.
  func add(
    ending: @escaping @Sendable (Int) -> Void
  ) -> (number: Int, stream: AsyncStream<Void>) {
    let number = nextNumber
    nextNumber += 1
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    continuation.onTermination = { _ in ending(number) }
    observers[number] = Observer(continuation: continuation)
    continuation.yield()
    return (number, stream)
  }

  /// Restricts a stream to changes of what was read of record types in a zone.
  func restrict(_ number: Int, to fields: [TypeID: Set<FieldID>], in zone: ZoneID) {
    observers[number]?.interest = (zone, fields)
  }

  /// Forgets the stream with a number.
  func remove(_ number: Int) {
    observers[number] = nil
  }

  /// Notifies every stream that what was written concerns.
  func announce(_ touched: TouchedRecords) {
    for number in observers.keys.sorted() {
      guard let observer = observers[number] else { continue }
      if let (zone, fields) = observer.interest, !touched.concern(fields, in: zone) { continue }
      observer.continuation.yield()
    }
  }

  /// Ends every stream.
  func finish() {
    for number in observers.keys.sorted() { observers[number]?.continuation.finish() }
  }
}
