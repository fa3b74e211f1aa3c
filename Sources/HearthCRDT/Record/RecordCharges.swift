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
    /// The units, at least 1; for a text the weight of all edits.
    package let units: UInt64

    static func < (left: Entry, right: Entry) -> Bool {
      left.author != right.author ? left.author < right.author : left.field < right.field
    }
  }

  /// The charges of one author: some thousands at most.
  private struct Share: Equatable {
    let author: Author
    /// The charged fields, in order.
    var fields: [FieldID] = []
    /// The units of each field.
    var units: [UInt64] = []
    /// The sum of the units.
    var total: UInt64 = 0

    func place(of field: FieldID) -> Int { fields.partitionPoint { $0 >= field } }

    func units(of field: FieldID) -> UInt64 {
      let place = place(of: field)
      return place < fields.count && fields[place] == field ? units[place] : 0
    }

    mutating func set(_ field: FieldID, to charge: UInt64) {
      let place = place(of: field)
      if place < fields.count, fields[place] == field {
        total =
          total - RecordCharges.units(units[place], field) + RecordCharges.units(charge, field)
        units[place] = charge
      } else {
        fields.insert(field, at: place)
        units.insert(charge, at: place)
        total += RecordCharges.units(charge, field)
      }
    }
  }

  /// The shares in order of author.
  private var shares: [Share] = []

  /// The charges, in order of author, then of field; O(n).
  package var entries: [Entry] {
    shares.flatMap { share in
      zip(share.fields, share.units).map {
        Entry(author: share.author, field: $0, units: $1)
      }
    }
  }

  init() {}

  init(sortedEntries: [Entry]) {
    for entry in sortedEntries {
      if shares.last?.author != entry.author { shares.append(Share(author: entry.author)) }
      shares[shares.count - 1].set(entry.field, to: entry.units)
    }
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
      let units = RecordCharges.units(entry.units, entry.field)
      guard entry.units > 0, units <= Limits.maximumRecordUnits,
        sum + units <= Limits.maximumRecordUnits
      else { throw CodecError(.beyondLimit, "charges", offset: offset) }
      sum += units
    }
    self.init(sortedEntries: entries)
  }

  /// Whether nobody has used up anything.
  package var isEmpty: Bool { shares.isEmpty }

  /// The units of space that a field's charge takes: edits of a text are so light that only many of
  /// them take one.
  static func units(_ charge: UInt64, _ field: FieldID) -> UInt64 {
    field.kind == .text ? charge / Limits.textUnitWeight : charge
  }

  /// The total charge of an author in the record; O(log n).
  package func total(of author: Author) -> UInt64 { share(of: author)?.total ?? 0 }

  /// The charge of an author in one field; O(log n).
  func units(of author: Author, in field: FieldID) -> UInt64 {
    share(of: author)?.units(of: field) ?? 0
  }

  /// Adds an operation's cost; the rest of the author's own charges may move.
  mutating func take(_ cost: (field: FieldID, units: UInt64, isAdded: Bool), by author: Author) {
    let place = place(of: author)
    if place == shares.count || shares[place].author != author {
      shares.insert(Share(author: author), at: place)
    }
    let before = shares[place].units(of: cost.field)
    shares[place].set(
      cost.field, to: cost.isAdded ? before + cost.units : max(before, cost.units))
  }

  /// Takes the greater of each charge: commutative, associative, idempotent.
  ///
  /// O(n).
  func joined(with other: RecordCharges) -> RecordCharges {
    if other.isEmpty { return self }
    let (ours, theirs) = (entries, other.entries)
    var result: [Entry] = []
    result.reserveCapacity(max(ours.count, theirs.count))
    var place = 0
    for entry in ours {
      while place < theirs.count, theirs[place] < entry {
        result.append(theirs[place])
        place += 1
      }
      guard place < theirs.count, !(entry < theirs[place]) else {
        result.append(entry)
        continue
      }
      result.append(
        Entry(
          author: entry.author, field: entry.field, units: max(entry.units, theirs[place].units)))
      place += 1
    }
    result.append(contentsOf: theirs[place...])
    return RecordCharges(sortedEntries: result)
  }

  private func share(of author: Author) -> Share? {
    let place = place(of: author)
    return place < shares.count && shares[place].author == author ? shares[place] : nil
  }

  private func place(of author: Author) -> Int {
    shares.partitionPoint { $0.author >= author }
  }
}
