import HearthCRDT
import HearthMembership

/// Pasts that are not closed, for acts that no change of the format could hold.
///
/// A change states what was newly seen, so nobody can go back in it; the nearest lie that it can
/// hold is to state something without what that had seen. Such an act states to have seen one
/// stranger's operation, and not that of another one which the first had seen. Whoever has seen
/// the act states both.
struct OpenPasts {
  /// The act with an open past, and the author of each of the two operations.
  private var lies: [(act: Dot, shown: Author, hidden: Author)] = []

  /// Operations of strangers that everybody has seen, so that no lie comes later in the order than
  /// it would without what it states.
  private static let firstStranger = Author(
    device: Identifier(high: .max, low: 0), incarnation: 1 << 32)
  private static let beginnings: UInt64 = 3

  var isEmpty: Bool { lies.isEmpty }

  /// What an act states to have seen.
  mutating func stated(_ cause: Frontier, by dot: Dot, isOpen: Bool) -> Frontier {
    var stated = cause
    stated.advance(OpenPasts.firstStranger, to: OpenPasts.beginnings)
    for lie in lies where cause.covers(lie.act) {
      stated.advance(lie.shown, to: 1)
      stated.advance(lie.hidden, to: 1)
    }
    guard isOpen else { return stated }
    let number = UInt64(lies.count) * 2 + 1
    let lie = (act: dot, shown: OpenPasts.stranger(number), hidden: OpenPasts.stranger(number + 1))
    lies.append(lie)
    stated.advance(lie.shown, to: 1)
    return stated
  }

  /// What the strangers wrote.
  var items: [ControlItem] {
    var items = (1...OpenPasts.beginnings).map { sequence in
      OpenPasts.item(
        Dot(author: OpenPasts.firstStranger, sequence: sequence),
        Frontier(sequence > 1 ? [(OpenPasts.firstStranger, sequence - 1)] : []))
    }
    for lie in lies {
      items.append(OpenPasts.item(Dot(author: lie.hidden, sequence: 1), Frontier()))
      items.append(
        OpenPasts.item(Dot(author: lie.shown, sequence: 1), Frontier([(lie.hidden, UInt64(1))])))
    }
    return items
  }

  private static func stranger(_ number: UInt64) -> Author {
    Author(device: Identifier(high: .max, low: number), incarnation: 1 << 32)
  }

  private static func item(_ dot: Dot, _ cause: Frontier) -> ControlItem {
    ControlItem(
      id: Identifier(high: dot.author.device.low | 0xffff_0000_0000_0000, low: dot.sequence),
      version: Version(dot: dot, time: HybridTime(milliseconds: 1)), cause: cause,
      operation: .heartbeat([]))
  }
}
