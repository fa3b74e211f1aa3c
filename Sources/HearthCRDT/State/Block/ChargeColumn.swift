/// The charges of authors on several records.
struct ChargeColumn {
  private var counts = RunColumn()
  private var dots = DotColumn()
  private var fields = RunColumn()

  mutating func append(_ charges: RecordCharges, _ table: AuthorTable) {
    counts.append(UInt32(charges.entries.count))
    for entry in charges.entries {
      dots.append(Dot(author: entry.author, sequence: entry.units), table)
      fields.append(UInt32(entry.field.rawValue))
    }
  }

  /// Appends the column's bytes: counts, then units and authors like dots, then fields.
  mutating func finish(into writer: inout ByteWriter) {
    writer.raw(counts.finish())
    dots.finish(into: &writer)
    writer.raw(fields.finish())
  }

  /// Reads the charges of authors on `count` records.
  static func decode(
    from reader: inout ByteReader, count: Int, _ table: AuthorTable
  ) throws(CodecError) -> [RecordCharges] {
    let start = reader.offset
    let (counts, sum) = try DotListColumn.decodeCounts(from: &reader, "charges", count: count)
    let dots = try DotColumn.decode(from: &reader, "charges", count: sum, table)
    let fields = try RunColumn.decode(
      from: &reader, "charged fields", count: sum, atMost: UInt32(UInt16.max))
    var result: [RecordCharges] = []
    result.reserveCapacity(count)
    var place = 0
    for count in counts {
      guard count > 0 else { throw CodecError(.notCanonical, "charges", offset: start) }
      let entries = (place..<place + count).map {
        RecordCharges.Entry(
          author: dots[$0].author, field: FieldID(rawValue: UInt16(fields[$0])),
          units: dots[$0].sequence)
      }
      result.append(try RecordCharges(checking: entries, at: start))
      place += count
    }
    return result
  }
}
