import HearthCRDT
import HearthRelayProtocol

/// A type whose values a publisher offers to everybody: a recipe, a challenge, a template.
///
/// ```swift
/// struct Recipe: PublicItem {
///   static let itemType = "recipe"
///   var id: String
///   var title: String
///   var minutes: Int64
///   var indexed: [String: [StoredValue]] { ["minutes": [minutes.stored]] }
/// }
/// ```
///
/// An item is stored as JSON of at most 16 KB. Older programs ignore a property that they do not
/// know; one that newer publishers leave out must be optional.
public protocol PublicItem: Codable, Identifiable, Sendable where ID == String {
  /// The name of the type: 1 to 32 of a-z, 0-9 and hyphens; it never changes.
  static var itemType: String { get }
  /// The item's key within its type: 1 to 64 of a-z, 0-9, hyphens and underscores.
  var id: String { get }
  /// The values by which readers find the item, by their names; by default none.
  var indexed: [String: [StoredValue]] { get }
}

extension PublicItem {
  /// None.
  public var indexed: [String: [StoredValue]] { [:] }

  /// The item as it is published.
  ///
  /// - Throws: `invalid` if it cannot be coded, or is beyond a limit.
  func record() throws -> PublicRecord {
    var fields: [PublicField] = []
    for (name, values) in indexed.sorted(by: { $0.key < $1.key }) {
      for value in values { fields.append(PublicField(name, try value.published(in: name))) }
    }
    return try PublicRecord(
      type: Self.itemType, id: id, revision: 1, fields: fields,
      body: try JSONCoding.text(of: self))
  }
}

extension StoredValue {
  /// The value as an index of a catalogue holds it.
  ///
  /// - Throws: `invalid` for nothing and for bytes.
  fileprivate func published(in field: String) throws -> PublicValue {
    switch self {
    case .bool(let truth): return .bool(truth)
    case .int(let number): return .int(number)
    case .text(let text): return .text(text)
    case .null, .bytes:
      throw HearthError(
        .invalid, "the indexed field \(printable(field)) of an item has no text, number or truth")
    }
  }
}

/// A condition on an indexed value of public items; of several values, one has to meet it.
public struct ItemCondition: Sendable {
  let condition: PublicCondition?

  /// The field has a value.
  public static func equal(_ field: String, _ value: some FieldValue) -> ItemCondition {
    let published = try? value.stored.published(in: field)
    return ItemCondition(condition: published.map { PublicCondition(field, .equals($0)) })
  }

  /// The field is a number in a range.
  public static func between(_ field: String, _ range: ClosedRange<Int64>) -> ItemCondition {
    ItemCondition(
      condition: PublicCondition(
        field, .range(least: range.lowerBound, most: range.upperBound)))
  }

  /// The field is a number that is not smaller.
  public static func atLeast(_ field: String, _ number: Int64) -> ItemCondition {
    ItemCondition(condition: PublicCondition(field, .range(least: number, most: nil)))
  }

  /// The field is a number that is not greater.
  public static func atMost(_ field: String, _ number: Int64) -> ItemCondition {
    ItemCondition(condition: PublicCondition(field, .range(least: nil, most: number)))
  }
}

/// The items that were found, in order of catalogue and key; and beside them those that do not fit
/// the program's type.
public struct PublicItems<Item: PublicItem>: RandomAccessCollection, Sendable {
  private let items: [Item]
  /// The keys of the items that do not fit the program's type; a newer program may have made them.
  public let unreadable: [String]
  /// What a relay held back, in words; empty for items that are on this device.
  public let remarks: [String]

  init(_ found: [FoundRecord], remarks: [String] = []) {
    var (items, unreadable): ([Item], [String]) = ([], [])
    for record in found.map(\.record) {
      if let item: Item = JSONCoding.value(of: record.body), item.id == record.path.id {
        items.append(item)
      } else {
        unreadable.append(record.path.id)
      }
    }
    (self.items, self.unreadable, self.remarks) = (items, unreadable, remarks)
  }

  /// The first place.
  public var startIndex: Int { 0 }
  /// The place after the last item.
  public var endIndex: Int { items.count }
  /// The item at a place.
  public subscript(position: Int) -> Item { items[position] }
}
