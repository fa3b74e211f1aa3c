/// The end of a mailbox's log as a live subscription brought it.
///
/// A subscriber gets every entry from the head that the subscription began at, in order, or a hint
/// at the head where there is too much. So whoever knows the log up to some position can be given
/// what came since without asking. What is too much, or not known to be whole, is listed instead:
/// nothing here decides what is true, and the chain over the log is computed as ever.
struct RelayPushedEntries: Sendable {
  /// The last position that the relay told of.
  private(set) var head: UInt64
  /// Entries that follow each other, the last at or before the head.
  private var entries: [RelayEntry] = []
  private var byteCount = 0

  /// How many bytes of blobs and names are kept of one mailbox: some pushes' worth.
  static let maximumBytes = 256 << 10

  /// - Parameter head: from where on the subscription brings everything.
  init(head: UInt64) { self.head = head }

  /// Takes pushed entries, which follow each other.
  mutating func append(_ pushed: [RelayEntry]) {
    for entry in pushed {
      let position = entry.header.position
      guard position > head else { continue }
      if position != head + 1 || entries.last.map({ $0.header.position != head }) ?? false {
        drop()
      }
      entries.append(entry)
      byteCount += RelayPushedEntries.cost(of: entry)
      head = position
    }
    if byteCount > RelayPushedEntries.maximumBytes { drop() }
  }

  /// Something was stored by this session, which is not brought to it.
  mutating func appended(at position: UInt64) {
    if position == head + 1 { head = position }
  }

  /// The relay only hinted at what came.
  mutating func skip(to position: UInt64) {
    guard position > head else { return }
    head = position
    drop()
  }

  /// All that came after a position; nil where that is not known to be all.
  ///
  /// What lies before is let go: whoever asks has it. What is given is kept until then, as the
  /// one who asked may fail and ask again.
  mutating func take(after position: UInt64) -> [RelayEntry]? {
    guard position <= head else { return nil }
    let known = entries.firstIndex { $0.header.position > position } ?? entries.count
    for entry in entries[..<known] { byteCount -= RelayPushedEntries.cost(of: entry) }
    entries.removeFirst(known)
    if position == head { return [] }
    guard entries.first?.header.position == position + 1, entries.last?.header.position == head
    else { return nil }
    return entries
  }

  private mutating func drop() {
    entries = []
    byteCount = 0
  }

  private static func cost(of entry: RelayEntry) -> Int {
    entry.blob.count + entry.header.name.count
  }
}
