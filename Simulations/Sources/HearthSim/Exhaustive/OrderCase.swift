/// A story of at most six changes, every order of whose delivery must come to the same end.
///
/// Steps have the form of a plan's: `0d 09:00 Ada: complete Dishes`. Ada (the owner), Ben (an
/// administrator) and Cleo write, each by a clock of their own: the times of a device need not fit
/// those of another. `knows=1,3` at the end says what the writer has received by then, with all
/// that those changes knew; without it only what the same device wrote before.
struct OrderCase: Sendable {
  let name: String
  /// What must hold, in a sentence.
  let purpose: String
  /// What everybody has before anything is delivered.
  var before: [String] = []
  /// The changes, numbered from 1.
  let changes: [String]
  /// What the reader writes between two deliveries, tried at every place of every order.
  var between: String?
  /// What the reader shows in the end, wherever it wrote.
  var expectsBetween: [String] = []
  /// When people look, as in a step.
  var asked = "0d 23:00"
  /// Questions of the simulator's plans with their answers, and `tally NAME ANSWER`.
  let expects: [String]
  /// Whether an old program is given every order too, not a few.
  var isMixed = false
  /// Whether each segment holds all that its author wrote so far, as after merging, so that every
  /// one overlaps those before it.
  var isOverlapping = false
  /// Whether Ada, Ben and the others are devices of one person, with a private database.
  var isPrivate = false

  /// The most changes of a case: seven have 5,040 orders.
  static let maximumChanges = 6
}

/// A change of a case as it was written.
struct OrderedChange {
  let line: String
  /// The place of its author among the writers.
  let writer: Int
  /// What it knew, itself included.
  let knows: Set<Int>
  let segment: [UInt8]
}

/// What went wrong, in words, with the order that led to it.
struct OrderFailure: Error, CustomStringConvertible {
  let device: String
  /// The numbers of the changes in the order of their delivery.
  let order: String
  let text: String

  var description: String {
    order.isEmpty ? "\(device) \(text)" : "\(device), given \(order), \(text)"
  }
}

/// All orders of a few things, in lexicographic order.
struct Permutations: Sequence, IteratorProtocol {
  private var upcoming: [Int]?

  init(of places: [Int]) {
    upcoming = places.sorted()
  }

  mutating func next() -> [Int]? {
    guard let present = upcoming else { return nil }
    upcoming = Permutations.follower(of: present)
    return present
  }

  private static func follower(of order: [Int]) -> [Int]? {
    var order = order
    guard order.count > 1,
      let pivot = (0..<order.count - 1).last(where: { order[$0] < order[$0 + 1] }),
      let other = order.indices.last(where: { order[$0] > order[pivot] })
    else { return nil }
    order.swapAt(pivot, other)
    order[(pivot + 1)...].reverse()
    return order
  }
}
