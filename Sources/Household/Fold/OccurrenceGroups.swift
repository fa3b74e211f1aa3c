import HearthCRDT
import HearthSync

/// The completions of a chore by the occurrence that they closed.
///
/// They are added in order. Where a completion goes depends on the one that opened the last
/// occurrence, on the keys before it, and on the links of its doer within one interval. So the
/// groups of a stretch can be made without what comes earlier.
struct OccurrenceGroups {
  /// The completions of each occurrence, in order; so are the first ones.
  private(set) var groups: [[Completion]] = []
  /// The completions that opened links of the chain, in order.
  private(set) var links: [Completion] = []
  private var places: [OccurrenceKey: Int] = [:]

  /// Half a day: the distance within which two completions of a chain can be the same work (R7).
  ///
  /// They are the same work if neither author knew of the other. The rule takes half the interval
  /// or this value, whichever is less, and half of no interval is less.
  private static let clusterMilliseconds: UInt64 = 12 * 60 * 60 * 1000

  /// Adds the next completion; returns whether it opens an occurrence.
  ///
  /// - Parameter isSurplus: whether a link beside the given ones is too much for its doer; then it
  ///   joins the last occurrence.
  mutating func add(
    _ completion: Completion, isSurplus: (_ links: [Completion]) throws -> Bool
  ) rethrows -> Bool {
    var place = completion.key.flatMap { places[$0] }
    if place == nil, let closing = groups.last?.first {
      let isSame = OccurrenceGroups.isSameWork(closing, completion)
      Probe.chainSameWork.hit(if: isSame)
      var joins = isSame
      if !isSame, completion.key == nil { joins = try isSurplus(links) }
      if joins { place = groups.count - 1 }
    }
    let isFirst = place == nil
    if isFirst {
      groups.append([])
      if completion.key == nil {
        Probe.chainNextLink.hit()
        links.append(completion)
      }
    }
    let chosen = place ?? groups.count - 1
    groups[chosen].append(completion)
    if let key = completion.key { places[key] = chosen }
    return isFirst
  }

  /// Takes the last occurrence away.
  mutating func removeLast() { _ = groups.popLast() }

  /// Whether a completion of a chain is the same work as the last link; if not, it closes the next
  /// (R7).
  ///
  /// It is if it did not know of that link and lies near it. A completion that names its occurrence
  /// can be the same work as one of a chain, since its author may not have seen the new rule.
  private static func isSameWork(_ closing: Completion, _ completion: Completion) -> Bool {
    (closing.key == nil || completion.key == nil)
      && (closing.isConcurrent(to: completion) || Mutant.chainIgnoresCause.isActive)
      && isNear(closing.doneAt, completion.doneAt)
  }

  private static func isNear(_ left: Int64, _ right: Int64) -> Bool {
    let distance =
      left > right
      ? left.subtractingReportingOverflow(right)
      : right.subtractingReportingOverflow(left)
    return !distance.overflow && UInt64(distance.partialValue) <= clusterMilliseconds
  }
}
