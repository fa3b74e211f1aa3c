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

  private var heads: [Author: (seen: Frontier, control: Frontier)] = [:]

  /// Notes what a log's author had seen before the first change, unless that is known.
  mutating func begin(with head: LogHead) {
    if heads[head.author] == nil { heads[head.author] = (head.seen, head.controlSeen) }
  }

  /// What a log's author had seen of the membership operations before the first change.
  func control(of author: Author) -> Frontier { heads[author]?.control ?? Frontier() }

  /// What the author of the next change had seen.
  mutating func next(_ change: Change) -> Seen {
    let author = change.dot.author
    var (seen, control) = heads[author] ?? (Frontier(), Frontier())
    // The queue has let only changes pass that raise what their authors had seen.
    seen = seen.raised(by: change.seen) ?? seen
    control = control.raised(by: change.controlSeen) ?? control
    heads[author] = (seen, control)
    var past = seen
    if !Mutant.forgetsOwnPast.isActive { past.advance(author, to: change.dot.sequence - 1) }
    return Seen(past: past, control: control)
  }
}
