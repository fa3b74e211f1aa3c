import HearthCRDT
import HearthStore
import HearthSync

/// The last result of an observation, which may be nil itself.
struct Observed<Value: Sendable>: Sendable {
  let value: Value
}

/// What a zone shows now, and again after each change that concerns it.
///
/// Changes in quick succession arrive as one, and equal results are not repeated. A reader that is
/// slow skips states. It ends when the node is closed, and when the reading task is cancelled. It
/// goes on after `locked`, since another process that is in the way ends its work some time.
public struct Observation<Element: Sendable>: AsyncSequence, Sendable {
  /// Reads an element; nil if it is the same as the last one.
  typealias Reading = @Sendable (ZoneReader, inout (any Sendable)?) throws -> Element?

  let node: Node
  let zone: ZoneID
  let read: Reading

  /// Begins to observe.
  public func makeAsyncIterator() -> Iterator {
    Iterator(node: node, zone: zone, read: read)
  }

  /// Waits for one state after the other.
  public struct Iterator: AsyncIteratorProtocol {
    let node: Node
    let zone: ZoneID
    let read: Reading
    private var number = 0
    private var news: AsyncStream<Void>.Iterator?
    private var last: (any Sendable)?

    init(node: Node, zone: ZoneID, read: @escaping Reading) {
      self.node = node
      self.zone = zone
      self.read = read
    }

    /// How long to wait before reading again what another process has kept from being read.
    private static var pause: Duration { .milliseconds(100) }

    /// Waits for the next state; nil at the end.
    ///
    /// - Throws: ``HearthError``, or what the body of ``HearthZone/observe(reading:)`` throws; not
    ///   `locked`.
    public mutating func next() async throws -> Element? {
      if news == nil {
        let changes = node.observers.add()
        number = changes.number
        news = changes.stream.makeAsyncIterator()
      }
      while await news?.next(isolation: #isolation) != nil {
        do {
          if let element = try await readPatiently() { return element }
        } catch let error as HearthError where error.code == .closed {
          return nil
        } catch let error as HearthError where error.code == .cancelled && Task.isCancelled {
          return nil
        }
      }
      return nil
    }

    /// Reads a state, as often as another process prevents that; nil if it is the same as the last
    /// one, or if the task is cancelled.
    private mutating func readPatiently() async throws -> Element? {
      while !Task.isCancelled {
        do {
          return try await readOnce()
        } catch let error as HearthError where error.code == .locked {
          // The other process tells nobody when it has ended. A cancelled wait ends the loop.
          try? await Task.sleep(for: Iterator.pause)
        }
      }
      return nil
    }

    /// Reads a state; nil if it is the same as the last one.
    private mutating func readOnce() async throws -> Element? {
      let (read, before, observers) = (read, last, node.observers)
      observers.beginReading(for: number)
      do {
        let (element, state, fields) = try await ZoneWork.reported {
          try await ZoneReading(node: node, zone: zone).read { reader in
            var state = before
            let element = try read(reader, &state)
            return (element, state, reader.readFields)
          }
        }
        observers.endReading(for: number, of: fields, in: zone)
        last = state
        return element
      } catch {
        observers.endReading(for: number, of: nil, in: zone)
        throw error
      }
    }
  }
}
