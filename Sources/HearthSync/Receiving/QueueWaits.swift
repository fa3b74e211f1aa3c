import HearthCRDT

/// The queues of a batch that wait for changes of other logs, by those changes.
///
/// A log that advances wakes those that waited for what it has reached, and no others.
struct QueueWaits {
  /// The queues that wait for each log, with the change that each waits for.
  private var waiting: [Author: [(sequence: UInt64, queue: Int)]] = [:]
  /// What each queue waits for.
  private var causes: [Int: Dot] = [:]
  private var woken: [Int] = []
  private var next = 0

  /// Notes that a queue waits for a change, and for nothing else.
  mutating func wait(_ queue: Int, for dot: Dot) {
    guard causes[queue] != dot else { return }
    causes[queue] = dot
    waiting[dot.author, default: []].append((dot.sequence, queue))
  }

  /// Wakes the queues that wait for changes up to one.
  mutating func wake(by author: Author, reaching sequence: UInt64) {
    guard let entries = waiting[author] else { return }
    var rest: [(sequence: UInt64, queue: Int)] = []
    for entry in entries {
      let dot = Dot(author: author, sequence: entry.sequence)
      // A queue that waits for something else by now has been tried since.
      guard causes[entry.queue] == dot else { continue }
      if entry.sequence <= sequence {
        causes[entry.queue] = nil
        woken.append(entry.queue)
      } else {
        rest.append(entry)
      }
    }
    waiting[author] = rest.isEmpty ? nil : rest
  }

  /// The queue that was woken first.
  mutating func popWoken() -> Int? {
    guard next < woken.count else {
      (woken, next) = ([], 0)
      return nil
    }
    next += 1
    return woken[next - 1]
  }
}
