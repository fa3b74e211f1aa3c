import Hearth
import HearthRelayProtocol
import HearthSync

/// The text of catalogues and their records, in words and in JSON.
enum PublicText {
  /// A record for programs.
  struct Item: Encodable {
    let catalogue: String
    let publisher: String
    let type: String
    let id: String
    let revision: UInt64
    let fields: [String: JSONValue]
    let body: JSONValue

    init(_ found: FoundRecord) {
      let record = found.record
      catalogue = found.catalogue.name
      publisher = found.catalogue.fingerprint
      type = record.path.type
      id = record.path.id
      revision = record.revision
      var lists: [String: [JSONValue]] = [:]
      for field in record.fields { lists[field.name, default: []].append(field.value.json) }
      fields = lists.mapValues { values in
        if values.count == 1, let only = values.first { only } else { .list(values) }
      }
      body = PublicText.body(of: record)
    }
  }

  /// A followed catalogue for programs.
  struct Followed: Encodable {
    let name: String
    let publisher: String
    let address: String
    let folder: String?
    let version: UInt64?
    let records: Int?
    let publishedAt: String?
    let checkedAt: String?
    let problem: String?

    init(_ kept: KeptCatalogue) {
      name = kept.address.catalogue.name
      publisher = kept.address.catalogue.fingerprint
      address = kept.address.description
      folder = kept.folder
      version = kept.head?.version
      records = kept.head?.count
      publishedAt = kept.head.map { MomentText.iso($0.publishedAt) }
      checkedAt = kept.checkedAt == 0 ? nil : MomentText.iso(kept.checkedAt)
      problem = kept.problem
    }
  }

  /// The item itself; a text if it is not readable JSON.
  static func body(of record: PublicRecord) -> JSONValue {
    (try? JSONValue(parsing: record.body)) ?? .text(record.body)
  }

  /// The title of a record, else its subject, else nothing.
  static func title(of record: PublicRecord) -> String {
    let body = body(of: record)
    return body["title"]?.text ?? body["description"]?.text ?? ""
  }

  /// One record, one line per key.
  static func lines(_ found: FoundRecord) -> [String] {
    guard case .object(let parts) = body(of: found.record) else {
      return [Style.safe(found.record.body)]
    }
    var lines: [String] = []
    for key in ["title", "description"] {
      if let text = parts[key]?.text { lines.append(Style.safe(text)) }
    }
    let rest = parts.keys.filter { !["id", "title", "description"].contains($0) }.sorted()
    for key in rest {
      guard let value = parts[key], value != .list([]) else { continue }
      lines.append("  \(Style.safe(key)): \(Style.safe(value.shown))")
    }
    return lines
  }

  /// The age of a moment, in one unit.
  static func age(of moment: UInt64, now: UInt64) -> String {
    guard moment <= now else { return "in the future" }
    let minutes = (now - moment) / 60_000
    let units: [(length: UInt64, name: String)] = [
      (1, "minute"), (60, "hour"), (1_440, "day"), (UInt64.max, ""),
    ]
    for (unit, next) in zip(units, units.dropFirst()) where minutes < 2 * next.length {
      let count = Int(clamping: minutes / unit.length)
      return count == 0 ? "just now" : "\(Words.count(count, unit.name)) ago"
    }
    return "long ago"
  }

  /// The results and failures of a round of refreshing, one line each.
  static func lines(_ refreshed: [CatalogueRefresh]) -> (news: [String], warnings: [String]) {
    var news: [String] = []
    var warnings: [String] = []
    for result in refreshed {
      let name = result.kept.address.catalogue.name
      if let problem = result.problem {
        let stays =
          result.kept.head.map { "version \($0.version) stays here" } ?? "no version is here yet"
        warnings.append(
          "hearth: warning: the catalogue \(name): \(Style.safe(problem)); \(stays)")
      } else if result.isNew, let head = result.kept.head {
        news.append(
          "catalogue \(name): version \(head.version), \(Words.count(head.count, "record"))")
      }
    }
    return (news, warnings)
  }
}

extension PublicValue {
  /// The value in JSON.
  var json: JSONValue {
    switch self {
    case .bool(let value): .bool(value)
    case .int(let value): .int(value)
    case .text(let value): .text(value)
    }
  }
}
