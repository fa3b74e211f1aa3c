/// A sorted list in pieces, so that an insertion moves the rest of one piece, not of the list.
struct SortedPieces<Item> {
  /// Where an item is, or where it would be inserted.
  struct Place {
    fileprivate let piece: Int
    fileprivate let offset: Int
  }

  /// The first piece; most lists have no other, and then cost no more than an array.
  private var first: [Item]
  /// The pieces after it, none of them empty.
  ///
  /// No piece is longer than ``maximumPiece``.
  private var rest: [[Item]] = []

  private static var maximumPiece: Int { 512 }

  /// Takes items in order.
  init(_ items: [Item] = []) {
    guard items.count > SortedPieces.maximumPiece else {
      first = items
      return
    }
    let length = SortedPieces.maximumPiece / 2
    first = Array(items[..<length])
    rest = stride(from: length, to: items.count, by: length).map {
      Array(items[$0..<min($0 + length, items.count)])
    }
  }

  /// All items in order; O(n) if there are several pieces.
  var items: [Item] { rest.isEmpty ? first : first + rest.joined() }

  /// The place behind all items.
  var end: Place {
    Place(piece: rest.count, offset: rest.last?.count ?? first.count)
  }

  /// The first place from which a condition holds; the end if it holds for no item.
  ///
  /// If the condition holds for one item, it must hold for all items after it. O(log n).
  func place(where isBeyond: (Item) -> Bool) -> Place {
    let piece = rest.isEmpty ? 0 : rest.partitionPoint { isBeyond($0[0]) }
    let items = self[piece: piece]
    let offset = items.partitionPoint(where: isBeyond)
    let isInside = offset < items.count || piece == rest.count
    return isInside ? Place(piece: piece, offset: offset) : Place(piece: piece + 1, offset: 0)
  }

  /// The place before another one; nil for the first.
  func place(before place: Place) -> Place? {
    if place.offset > 0 { return Place(piece: place.piece, offset: place.offset - 1) }
    guard place.piece > 0 else { return nil }
    return Place(piece: place.piece - 1, offset: self[piece: place.piece - 1].count - 1)
  }

  /// The place after another one.
  func place(after place: Place) -> Place {
    let isInside = place.offset + 1 < self[piece: place.piece].count || place.piece == rest.count
    return isInside
      ? Place(piece: place.piece, offset: place.offset + 1)
      : Place(piece: place.piece + 1, offset: 0)
  }

  /// The item at a place; nil at the end.
  subscript(place: Place) -> Item? {
    guard place.piece <= rest.count else { return nil }
    let items = self[piece: place.piece]
    return place.offset < items.count ? items[place.offset] : nil
  }

  /// Changes the item at a place without a copy of it.
  mutating func change(at place: Place, _ body: (inout Item) -> Void) {
    body(&self[piece: place.piece][place.offset])
  }

  /// Changes every item in order without a copy of it; the items must stay in order.
  mutating func changeEach(_ body: (inout Item) throws -> Void) rethrows {
    for place in first.indices { try body(&first[place]) }
    for piece in rest.indices {
      for place in rest[piece].indices { try body(&rest[piece][place]) }
    }
  }

  /// Inserts an item; O(log n) amortised.
  ///
  /// - Returns: Where the item is now.
  @discardableResult
  mutating func insert(_ item: Item, at place: Place) -> Place {
    self[piece: place.piece].insert(item, at: place.offset)
    let count = self[piece: place.piece].count
    guard count > SortedPieces.maximumPiece else { return place }
    let half = count / 2
    let later = Array(self[piece: place.piece][half...])
    self[piece: place.piece].removeSubrange(half...)
    rest.insert(later, at: place.piece)
    return place.offset < half
      ? place : Place(piece: place.piece + 1, offset: place.offset - half)
  }

  /// Removes the item at a place.
  mutating func remove(at place: Place) {
    self[piece: place.piece].remove(at: place.offset)
    guard self[piece: place.piece].isEmpty, !rest.isEmpty else { return }
    if place.piece == 0 {
      first = rest.removeFirst()
    } else {
      rest.remove(at: place.piece - 1)
    }
  }

  private subscript(piece piece: Int) -> [Item] {
    get { piece == 0 ? first : rest[piece - 1] }
    _modify {
      if piece == 0 {
        yield &first
      } else {
        yield &rest[piece - 1]
      }
    }
  }
}

extension SortedPieces: Sendable where Item: Sendable {}

extension SortedPieces: Equatable where Item: Equatable {
  /// Whether two lists have the same items, in whatever pieces.
  static func == (left: SortedPieces, right: SortedPieces) -> Bool { left.items == right.items }
}
