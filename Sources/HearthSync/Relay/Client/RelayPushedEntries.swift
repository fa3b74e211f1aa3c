import HearthCrypto

/// The end of a mailbox's log as a live subscription brought it.
///
/// A subscriber gets every entry from the head that the subscription began at, in order, or a hint
/// at the head where there is too much. So whoever knows the log up to some position can be given
/// what came since without asking. It is given only to who knows the same past, by the chain over
/// the log: a relay that was set back or exchanged, and caught up, is noticed by a listing as ever.
struct RelayPushedEntries: Sendable {
  /// The last position that the relay told of.
  private(set) var head: UInt64
  /// ``RelayChain`` at positions that follow each other, the last at the head; none where it is not
  /// known.
  private var links: [(position: UInt64, chain: Bytes32)] = []
  /// Entries that follow each other, but for those of this session.
  private var entries: [RelayEntry] = []
  private var byteCount = 0

  /// How many bytes of blobs and names are kept of one mailbox: some pushes' worth.
  static let maximumBytes = 256 << 10
  /// How many positions are kept with their chain.
  static let maximumLinks = 4_096

  /// - Parameters:
  ///   - head: from where on the subscription brings everything.
  ///   - known: a position and the chain there, as the relay said when the mailbox was opened.
  init(head: UInt64, known: (position: UInt64, chain: Bytes32)?) {
    self.head = head
    if let known { rebase(to: known) }
  }

  /// The relay told the chain at a position; where that is the head, it goes on from there.
  mutating func rebase(to known: (position: UInt64, chain: Bytes32)) {
    guard known.position == head, links.last?.position != head else { return }
    links = [known]
  }

  /// Takes pushed entries, which follow each other.
  mutating func append(_ pushed: [RelayEntry]) {
    for entry in pushed where entry.header.position > head {
      goOn(to: entry.header)
      entries.append(entry)
      byteCount += RelayPushedEntries.cost(of: entry)
    }
    if byteCount > RelayPushedEntries.maximumBytes { drop() }
  }

  /// Something was stored by this session, which is not brought to it.
  mutating func appended(_ header: RelayHeader) {
    if header.position == head + 1 { goOn(to: header) }
  }

  private mutating func goOn(to header: RelayHeader) {
    if header.position != head + 1 { drop() }
    head = header.position
    guard let last = links.last, last.position + 1 == head else { return }
    links.append((head, RelayChain.next(last.chain, header)))
    if links.count > RelayPushedEntries.maximumLinks { links.removeFirst(links.count / 2) }
  }

  /// The relay only hinted at what came.
  mutating func skip(to position: UInt64) {
    guard position > head else { return }
    head = position
    drop()
  }

  /// All that came after a position; nil where that is not known to be all, or where the log that
  /// the asker knows may be another.
  ///
  /// What lies before is let go: whoever asks has it. What is given is kept until then, as the
  /// one who asked may fail and ask again.
  mutating func take(after position: UInt64, chain: Bytes32) -> [RelayEntry]? {
    guard let first = links.first?.position, position >= first, position <= head,
      links[Int(position - first)].chain == chain
    else { return nil }
    links.removeFirst(Int(position - first))
    let known = entries.firstIndex { $0.header.position > position } ?? entries.count
    for entry in entries[..<known] { byteCount -= RelayPushedEntries.cost(of: entry) }
    entries.removeFirst(known)
    // Where one of this session lies between, some are missing.
    guard entries.count == Int(head - position) else { return nil }
    return entries
  }

  private mutating func drop() {
    links = []
    entries = []
    byteCount = 0
  }

  private static func cost(of entry: RelayEntry) -> Int {
    entry.blob.count + entry.header.name.count
  }
}
