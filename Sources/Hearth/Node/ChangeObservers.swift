import HearthCRDT
import HearthStore
import Synchronization

/// The streams by which others learn that a node's data may have changed.
final class ChangeObservers: Sendable {
  /// What a stream is about.
  private enum Interest {
    case everything
    /// What it has read of a zone's records.
    case fields([TypeID: Set<FieldID>], ZoneID)
    /// A reading is in progress; these records were written since it began.
    case awaited(TouchedRecords)
  }

  /// One stream, and what it is about.
  private struct Observer {
    let continuation: AsyncStream<Void>.Continuation
    var interest = Interest.everything
  }

  private struct Streams {
    var observers: [Int: Observer] = [:]
    var nextNumber = 0
  }

  private let streams = Mutex(Streams())

  /// Adds a stream of possible changes; several changes may be one element.
  func add() -> (number: Int, stream: AsyncStream<Void>) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = streams.withLock { streams in
      streams.nextNumber += 1
      streams.observers[streams.nextNumber] = Observer(continuation: continuation)
      return streams.nextNumber
    }
    continuation.onTermination = { [weak self] _ in self?.remove(number) }
    continuation.yield()
    return (number, stream)
  }

  /// Begins a reading for a stream: writes from now on are kept until the reading's end shows
  /// whether they concern it.
  func beginReading(for number: Int) {
    streams.withLock { $0.observers[number]?.interest = .awaited(TouchedRecords()) }
  }

  /// Ends a reading, which failed if nothing is said about it; then everything concerns the stream.
  ///
  /// - Parameter fields: what was read of record types in a zone.
  func endReading(for number: Int, of fields: [TypeID: Set<FieldID>]?, in zone: ZoneID) {
    let woken: AsyncStream<Void>.Continuation? = streams.withLock { streams in
      guard let observer = streams.observers[number] else { return nil }
      streams.observers[number]?.interest = fields.map { .fields($0, zone) } ?? .everything
      guard case .awaited(let touched) = observer.interest else { return nil }
      return touched.concern(fields ?? [:], in: zone) ? observer.continuation : nil
    }
    woken?.yield()
  }

  private func remove(_ number: Int) {
    streams.withLock { $0.observers[number] = nil }
  }

  /// Notifies every stream that what was written concerns.
  func announce(_ touched: TouchedRecords) {
    let woken = streams.withLock { streams -> [AsyncStream<Void>.Continuation] in
      streams.observers.keys.sorted().compactMap { number -> AsyncStream<Void>.Continuation? in
        switch streams.observers[number]?.interest {
        case .fields(let fields, let zone) where !touched.concern(fields, in: zone): return nil
        case .awaited(var before):
          before.add(touched)
          streams.observers[number]?.interest = .awaited(before)
          return nil
        default: return streams.observers[number]?.continuation
        }
      }
    }
    // Outside of the lock: a stream that ends calls back.
    for continuation in woken { continuation.yield() }
  }

  /// Ends every stream.
  func finish() {
    let all = streams.withLock { streams in
      streams.observers.sorted { $0.key < $1.key }.map(\.value.continuation)
    }
    for continuation in all { continuation.finish() }
  }
}
