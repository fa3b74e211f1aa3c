/// Counts the bytes of a page; the first item always fits.
package struct RelayByteBudget {
  private var left: Int
  private var isFirst = true

  package init(_ bytes: Int) { left = bytes }

  /// Takes an item if it fits, and returns whether it did.
  package mutating func takes(_ bytes: Int) -> Bool {
    defer { isFirst = false }
    guard isFirst || bytes <= left else { return false }
    left -= bytes
    return true
  }
}
