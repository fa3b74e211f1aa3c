import HearthCRDT
import HearthStore
import HearthSync

/// An award of points: an event, so it counts once however often it arrives.
enum Points {
  static let type = TypeID.event(2)
  static let member = FieldID(.register, 1)
  static let points = FieldID(.register, 2)
  static let time = FieldID(.register, 3)
  static let week = FieldID(.register, 4)

  static let schema = RecordSchema(
    type, "award",
    [
      FieldSchema(member, "member", .text), FieldSchema(points, "points", .int),
      FieldSchema(time, "time", .int), FieldSchema(week, "week", .int),
    ])

  static func fields(of award: Award) -> [EventField] {
    [
      EventField(member, .text(award.member)), EventField(points, .int(award.points)),
      EventField(time, .int(award.milliseconds)), EventField(week, .int(award.week)),
    ]
  }
}

/// The points of each member in each week.
struct WeekBoard: Projection {
  let name = "board"
  let version = 1
  let tables = [
    ProjectionTable(
      "week", key: [.init("week", .int), .init("member", .text)], columns: [.init("points", .int)])
  ]
  let types = [Points.type]

  func update(
    _ keys: [RecordKey], from source: any ProjectionSource, to writer: any ProjectionWriter
  ) throws {
    struct Place: Hashable {
      let week: Int64
      let member: String
    }
    var sums: [Place: Int64] = [:]
    for key in keys {
      guard let event = try source.event(key), let week = event[Points.week].int,
        let member = event[Points.member].text, let points = event[Points.points].int
      else { continue }
      sums[Place(week: week, member: member), default: 0] += points
    }
    let places = sums.keys.sorted { ($0.week, $0.member) < ($1.week, $1.member) }
    for place in places {
      try writer.add(
        [sums[place] ?? 0], toRow: [.int(place.week), .text(place.member)], in: "week")
    }
  }
}

extension Replica {
  /// The ten members with most points in a week, ties in order of name.
  func topTen(week: Int64) throws -> [(member: String, points: Int64)] {
    let rows = try store.projections.rows(
      of: "board", "week", where: [.int(week)], in: zone)
    let sorted = rows.map { ($0[1].text ?? "", $0[2].int ?? 0) }
      .sorted { $0.1 != $1.1 ? $0.1 > $1.1 : $0.0 < $1.0 }
    return Array(sorted.prefix(10))
  }
}
