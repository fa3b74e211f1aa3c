/// A sorted list in pieces, so that an insertion moves the rest of one piece, not of the list.
struct SortedPieces<Item> {
  /// Where an item is, or where it would be inserted.
  struct Place {
    fileprivate let piece: Int
    fileprivate let offset: Int
  }

  /// The items in pieces that are neither empty nor longer than ``maximumPiece``.
  private var pieces: [[Item]]

  private static var maximumPiece: Int { 512 }

  /// Takes items in order.
  init(_ items: [Item] = []) {
    guard items.count > SortedPieces.maximumPiece else {
      pieces = items.isEmpty ? [] : [items]
      return
    }
    let length = SortedPieces.maximumPiece / 2
    pieces = stride(from: 0, to: items.count, by: length).map {
      Array(items[$0..<min($0 + length, items.count)])
    }
  }

  /// All items in order; O(n) if there are several pieces.
  var items: [Item] { pieces.count == 1 ? pieces[0] : Array(pieces.joined()) }

  /// The place behind all items.
  var end: Place {
    pieces.isEmpty
      ? Place(piece: 0, offset: 0)
      : Place(piece: pieces.count - 1, offset: pieces[pieces.count - 1].count)
  }

  /// The first place from which a condition holds; the end if it holds for no item.
  ///
  /// If the condition holds for one item, it must hold for all items after it. O(log n).
  func place(where isBeyond: (Item) -> Bool) -> Place {
    let next = pieces.partitionPoint { isBeyond($0[0]) }
    guard next > 0 else { return Place(piece: 0, offset: 0) }
    let offset = pieces[next - 1].partitionPoint(where: isBeyond)
    let isInside = offset < pieces[next - 1].count || next == pieces.count
    return isInside ? Place(piece: next - 1, offset: offset) : Place(piece: next, offset: 0)
  }

  /// The item at a place; nil at the end.
  subscript(place: Place) -> Item? {
    guard place.piece < pieces.count, place.offset < pieces[place.piece].count else { return nil }
    return pieces[place.piece][place.offset]
  }

  /// Changes the item at a place without a copy of it.
  mutating func change(at place: Place, _ body: (inout Item) -> Void) {
    body(&pieces[place.piece][place.offset])
  }

  /// Inserts an item; O(log n) amortised.
  ///
  /// - Returns: Where the item is now.
  @discardableResult
  mutating func insert(_ item: Item, at place: Place) -> Place {
    guard !pieces.isEmpty else {
      pieces = [[item]]
      return Place(piece: 0, offset: 0)
    }
    pieces[place.piece].insert(item, at: place.offset)
    guard pieces[place.piece].count > SortedPieces.maximumPiece else { return place }
    let half = pieces[place.piece].count / 2
    let rest = Array(pieces[place.piece][half...])
    pieces[place.piece].removeSubrange(half...)
    pieces.insert(rest, at: place.piece + 1)
    return place.offset < half
      ? place : Place(piece: place.piece + 1, offset: place.offset - half)
  }

  /// Removes the item at a place.
  mutating func remove(at place: Place) {
    pieces[place.piece].remove(at: place.offset)
    if pieces[place.piece].isEmpty { pieces.remove(at: place.piece) }
  }
}

extension SortedPieces: Sendable where Item: Sendable {}

extension SortedPieces: Equatable where Item: Equatable {
  /// Whether two lists have the same items, in whatever pieces.
  static func == (left: SortedPieces, right: SortedPieces) -> Bool { left.items == right.items }
}
