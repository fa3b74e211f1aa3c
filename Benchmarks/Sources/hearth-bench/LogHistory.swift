import HearthCRDT
import HearthMembership

/// One of several histories of a device's log, in a segment that others show.
struct LogHistory {
  private let author: Author
  private let first: UInt64
  private let number: UInt64
  private var chain: [[UInt8]]
  private var changes: [ShownChange] = []

  /// - Parameters:
  ///   - number: Tells the histories of all logs apart.
  ///   - before: The last change before the history, by its number and content.
  init(_ number: Int, of author: Author, after before: (sequence: UInt64, hash: [UInt8])) {
    self.author = author
    self.number = UInt64(number)
    first = before.sequence + 1
    chain = [before.hash]
  }

  /// The number of operations.
  var count: Int { changes.count }

  /// Writes an operation that has seen nothing new of other logs.
  mutating func write(_ operation: ControlOperation) {
    let id = Identifier(high: 1 << 63 | number, low: last.sequence + 1)
    var writer = ByteWriter(capacity: 32)
    writer.identifier(id)
    writer.identifier(.zero)
    chain.append(writer.bytes)
    changes.append(
      ShownChange(
        seen: .none, time: HybridTime(milliseconds: 1), citations: [],
        events: [.init(id: id, eventID: id, operation: operation)]))
  }

  /// Its last change, by its number and content.
  var last: (sequence: UInt64, hash: [UInt8]) { change(count) }

  /// A change by its place in the history; 0 for the one before its first.
  func change(_ place: Int) -> (sequence: UInt64, hash: [UInt8]) {
    (first + UInt64(place) - 1, chain[place])
  }

  /// How others cite its last change.
  var citation: Citation { Citation(author: author, chainHash: last.hash) }

  /// What somebody has seen who has seen all of it, beside other logs.
  func cause(beside seen: Frontier) -> Frontier {
    var cause = seen
    cause.advance(author, to: last.sequence)
    return cause
  }

  /// The segment that holds it.
  var segment: ShownSegment {
    ShownSegment(
      digest: Identifier(high: 6, low: number), author: author, first: first, chain: chain,
      changes: changes)
  }
}

extension ResolverLog {
  /// A history of a device's log from its next change on.
  func history(_ number: Int, of device: Int) -> LogHistory {
    let author = author(device)
    return LogHistory(
      number, of: author, after: (seen[author], [UInt8](repeating: 0xcc, count: 32)))
  }

  /// Lets devices show a history.
  mutating func show(_ history: LogHistory, by devices: some Sequence<Int>) {
    let segment = history.segment
    histories[segment.digest] = segment
    for device in devices {
      write(
        device,
        .branch(author: segment.author, digest: segment.digest, part: 0, parts: 1, bytes: []))
    }
  }
}
