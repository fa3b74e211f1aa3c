/// A queue of events in order of virtual time; equal times keep the order in which they came.
struct EventHeap<Event> {
  private struct Entry {
    let time: UInt64
    let number: UInt64
    let event: Event

    func isBefore(_ other: Entry) -> Bool {
      time != other.time ? time < other.time : number < other.number
    }
  }

  private var entries: [Entry] = []
  private var pushed: UInt64 = 0

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }
  /// The time of the next event.
  var nextTime: UInt64? { entries.first?.time }

  mutating func push(_ event: Event, at time: UInt64) {
    entries.append(Entry(time: time, number: pushed, event: event))
    pushed += 1
    var child = entries.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].isBefore(entries[parent]) else { break }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  mutating func pop() -> (time: UInt64, event: Event)? {
    guard let first = entries.first else { return nil }
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2]
      where child < entries.count && entries[child].isBefore(entries[least]) {
        least = child
      }
      guard least != parent else { break }
      entries.swapAt(parent, least)
      parent = least
    }
    return (first.time, first.event)
  }
}
