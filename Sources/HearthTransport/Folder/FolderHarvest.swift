/// The names of one directory, of which only the first in sorted order are kept.
struct FolderHarvest {
  /// The fields of one name, and the name itself if it is inexact.
  struct Item {
    let fields: FolderFields
    let name: FolderName?
  }

  /// Whether more names were found than are kept.
  private(set) var isOverfull = false

  private let bound: Int
  private var items: [Item] = []

  init(bound: Int) { self.bound = bound }

  /// Adds a name.
  ///
  /// Memory stays within twice the bound; time is linear but for the sorting.
  mutating func insert(_ fields: FolderFields, _ name: FolderName?) {
    items.append(Item(fields: fields, name: name))
    if items.count > 2 * bound { cut() }
  }

  /// Returns the kept names, sorted, an exact name before its copies.
  mutating func sorted() -> [Item] {
    cut()
    return items
  }

  private mutating func cut() {
    items.sort(by: FolderHarvest.precedes)
    guard items.count > bound else { return }
    isOverfull = true
    items.removeLast(items.count - bound)
  }

  private static func precedes(_ left: Item, _ right: Item) -> Bool {
    if left.fields != right.fields { return left.fields < right.fields }
    switch (left.name, right.name) {
    case (nil, nil), (_?, nil): return false
    case (nil, _?): return true
    case (let left?, let right?): return left < right
    }
  }
}
