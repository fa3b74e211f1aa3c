/// The part of a record's limits that each author has used up, by field.
///
/// Charges only grow, and an author's part follows from the author's own log, so a join takes the
/// greater of each. Most records have no charges, since short values in fields with low numbers are
/// free.
package struct RecordCharges: Equatable, Sendable {
  /// The charge of one author's writes of one field.
  package struct Entry: Equatable, Sendable {
    /// The author.
    package let author: Author
    /// The field.
    package let field: FieldID
    /// The units, at least 1.
    package internal(set) var units: UInt64

    static func < (left: Entry, right: Entry) -> Bool {
      left.author != right.author ? left.author < right.author : left.field < right.field
    }
  }

  /// The charges, in order of author, then of field.
  package private(set) var entries: [Entry] = []

  init() {}

  init(sortedEntries: [Entry]) {
    entries = sortedEntries
  }

  /// Validates charges from an encoding.
  ///
  /// There must be at least one, and each author's part must be possible under the rule.
  init(checking entries: [Entry], at offset: Int) throws(CodecError) {
    var sum: UInt64 = 0
    for (place, entry) in entries.enumerated() {
      if place > 0, entries[place - 1].author != entry.author { sum = 0 }
      guard place == 0 || entries[place - 1] < entry else {
        throw CodecError(.notCanonical, "charges", offset: offset)
      }
      guard entry.units > 0, entry.units <= Limits.maximumRecordUnits,
        sum + entry.units <= Limits.maximumRecordUnits
      else { throw CodecError(.beyondLimit, "charges", offset: offset) }
      sum += entry.units
    }
    self.entries = entries
  }

  /// Whether nobody has used up anything.
  package var isEmpty: Bool { entries.isEmpty }

  /// The total charge of an author in the record; O(log n), plus the author's own entries.
  package func total(of author: Author) -> UInt64 {
    var place = position(of: author, FieldID(rawValue: 0))
    var sum: UInt64 = 0
    while place < entries.count, entries[place].author == author {
      sum += entries[place].units
      place += 1
    }
    return sum
  }

  /// The charge of an author in one field; O(log n).
  func units(of author: Author, in field: FieldID) -> UInt64 {
    let place = position(of: author, field)
    return isEntry(place, author, field) ? entries[place].units : 0
  }

  private func isEntry(_ place: Int, _ author: Author, _ field: FieldID) -> Bool {
    place < entries.count && entries[place].author == author && entries[place].field == field
  }

  /// Adds an operation's cost.
  mutating func take(_ cost: (field: FieldID, units: UInt64, isAdded: Bool), by author: Author) {
    let place = position(of: author, cost.field)
    guard isEntry(place, author, cost.field) else {
      entries.insert(Entry(author: author, field: cost.field, units: cost.units), at: place)
      return
    }
    let before = entries[place].units
    entries[place].units = cost.isAdded ? before + cost.units : max(before, cost.units)
  }

  /// Takes the greater of each charge: commutative, associative, idempotent.
  ///
  /// O(n).
  func joined(with other: RecordCharges) -> RecordCharges {
    if other.entries.isEmpty { return self }
    var result: [Entry] = []
    result.reserveCapacity(max(entries.count, other.entries.count))
    var place = 0
    for entry in entries {
      while place < other.entries.count, other.entries[place] < entry {
        result.append(other.entries[place])
        place += 1
      }
      var joined = entry
      if place < other.entries.count, !(entry < other.entries[place]) {
        joined.units = max(entry.units, other.entries[place].units)
        place += 1
      }
      result.append(joined)
    }
    result.append(contentsOf: other.entries[place...])
    return RecordCharges(sortedEntries: result)
  }

  private func position(of author: Author, _ field: FieldID) -> Int {
    let wanted = Entry(author: author, field: field, units: 0)
    return entries.partitionPoint { !($0 < wanted) }
  }
}

extension FieldID {
  /// The field number without the bits of the kind.
  var number: UInt16 { rawValue & (1 << 14 - 1) }
}
