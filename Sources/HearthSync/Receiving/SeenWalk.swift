import HearthCRDT

/// Goes through the changes that a queue lets pass, in their order, and tells what the author of
/// each had seen.
///
/// One frontier for each author is enough for that, however many changes there are.
struct SeenWalk {
  /// What the author of a change had seen.
  struct Seen {
    /// Everything, including the author's own earlier changes.
    let past: Frontier
    /// The membership operations.
    let control: Frontier
  }

  /// What an author had seen at its last change.
  private struct Known {
    var seen = Frontier()
    var control = Frontier()

    /// Goes on by the author's next change, in place.
    mutating func pass(_ change: Change) -> Seen {
      // The queue has let only changes pass that raise what their authors had seen.
      _ = seen.raise(by: change.seen)
      _ = control.raise(by: change.controlSeen)
      var past = seen
      if !Mutant.forgetsOwnPast.isActive {
        past.advance(change.dot.author, to: change.dot.sequence - 1)
      }
      return Seen(past: past, control: control)
    }
  }

  private var heads: [Author: Known] = [:]

  /// Notes what a log's author had seen before the first change, unless that is known.
  mutating func begin(with head: LogHead) {
    if heads[head.author] == nil {
      heads[head.author] = Known(seen: head.seen, control: head.controlSeen)
    }
  }

  /// What a log's author had seen of the membership operations before the first change.
  func control(of author: Author) -> Frontier { heads[author]?.control ?? Frontier() }

  /// What the author of the next change had seen.
  mutating func next(_ change: Change) -> Seen {
    heads[change.dot.author, default: Known()].pass(change)
  }
}
