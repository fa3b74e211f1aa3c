import HearthCRDT
import HearthRelayCore

/// The mailboxes that other relays have changed, until they are read.
struct RelayNewsQueue {
  /// The next step of reading.
  enum Step {
    /// One mailbox with its new entries.
    case changed(Identifier)
    /// Many mailboxes without entries, after something may have been missed.
    case compare([Identifier])
  }

  private var changes: [Identifier] = []
  private var waiting: Set<Identifier> = []
  private var comparisons: [Identifier] = []
  /// Whether a read failed.
  ///
  /// Nothing is then read until the next second.
  var isPaused = false

  /// The most mailboxes of one comparison.
  static let maximumComparison = 500

  mutating func changed(_ mailbox: Identifier) {
    if waiting.insert(mailbox).inserted { changes.append(mailbox) }
  }

  mutating func missed(_ open: [Identifier]) {
    comparisons = open
  }

  mutating func failed(_ mailboxes: [Identifier]) {
    comparisons = Set(comparisons).union(mailboxes).sorted()
    isPaused = true
  }

  mutating func next() -> Step? {
    guard !isPaused else { return nil }
    if !changes.isEmpty {
      let mailbox = changes.removeFirst()
      waiting.remove(mailbox)
      return .changed(mailbox)
    }
    guard !comparisons.isEmpty else { return nil }
    let names = Array(comparisons.prefix(RelayNewsQueue.maximumComparison))
    comparisons.removeFirst(names.count)
    return .compare(names)
  }
}
