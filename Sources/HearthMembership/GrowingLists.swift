/// Lists by key to which something is added without copying those of other keys.
struct GrowingLists<Key: Hashable & Sendable>: Sendable {
  /// For how many keys lists are kept apart at most, once everything is there.
  private static var maximumApart: Int { 64 }

  private var shared: [Key: [Int]] = [:]
  private var apart: [Key: [Int]] = [:]
  /// Whether further elements are kept apart.
  private var isShared = false

  subscript(key: Key) -> [Int]? {
    if !apart.isEmpty, let list = apart[key] { return list }
    return shared[key]
  }

  mutating func append(_ element: Int, to key: Key) {
    guard isShared else {
      shared[key, default: []].append(element)
      return
    }
    if apart[key] == nil { apart[key] = shared[key] ?? [] }
    apart[key]?.append(element)
    guard apart.count > GrowingLists.maximumApart else { return }
    shared.merge(apart) { $1 }
    apart.removeAll()
  }

  /// Keeps apart what is added from now on, as copies share what is here.
  mutating func share() { isShared = true }
}
