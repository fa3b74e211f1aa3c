extension RandomAccessCollection {
  /// The first position from which a condition holds; the end if it holds for no element.
  ///
  /// This is the only binary search. If the condition holds for one element, it must hold for all
  /// elements after it. A table that is not a collection searches the range of its positions. O(log
  /// n).
  @inlinable
  package func partitionPoint(where isBeyond: (Element) -> Bool) -> Index {
    var low = startIndex
    var rest = count
    while rest > 0 {
      let half = rest / 2
      let middle = index(low, offsetBy: half)
      if isBeyond(self[middle]) {
        rest = half
      } else {
        low = index(after: middle)
        rest -= half + 1
      }
    }
    return low
  }
}
