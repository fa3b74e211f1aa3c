extension RandomAccessCollection {
  /// The first place from which on a condition holds; the end if it holds for none.
  ///
  /// The one binary search: where the condition holds for one element, it holds for all after it. A
  /// table that is no collection searches the range of its places. O(log n).
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
