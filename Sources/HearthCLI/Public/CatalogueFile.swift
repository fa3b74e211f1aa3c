import Foundation
import HearthRelayProtocol
import HearthSync

/// A catalogue as a file that people write; `docs/reference/catalogue.md` describes its content.
struct CatalogueFile {
  /// The greatest file size.
  static let maximumBytes = 4 << 20
  /// The record type of each list.
  static let types = [
    "challenges": "challenge", "choreTemplates": "chore-template", "featureFlags": "flag",
    "appConfiguration": "configuration",
  ]
  /// The fields that are read and not indexed.
  private static let unindexed: Set<String> = [
    "id", "title", "description", "steps", "materials", "createdAt", "updatedAt",
  ]

  /// The catalogue's name.
  let name: String
  /// The version that the file claims.
  let version: UInt64
  /// Every record of the catalogue.
  let records: [PublicRecord]

  /// Reads a file.
  ///
  /// - Throws: `CommandFailure` for a file that is not a catalogue, `SyncError` beyond a limit.
  init(path: String) throws {
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw CommandFailure(.failed, "the file \(path) cannot be read")
    }
    defer { try? handle.close() }
    let data = try handle.read(upToCount: CatalogueFile.maximumBytes + 1) ?? Data()
    guard data.count <= CatalogueFile.maximumBytes else {
      throw CommandFailure(.failed, "\(path) has more than \(CatalogueFile.maximumBytes) bytes")
    }
    let document: JSONValue
    do {
      document = try JSONDecoder().decode(JSONValue.self, from: data)
    } catch {
      throw CommandFailure(
        .failed, "\(path) is not JSON with whole numbers",
        hint: "`Scripts/check-catalogue FILE` shows the place")
    }
    try self.init(document, path: path)
  }

  /// Reads a document.
  init(_ document: JSONValue, path: String) throws {
    func refuse(_ words: String) -> CommandFailure {
      CommandFailure(
        .failed, "\(path) is not a catalogue: \(words)",
        hint: "docs/reference/catalogue.md describes the format")
    }
    guard case .object(let parts) = document, parts["schema"]?.int == 1 else {
      throw refuse("it lacks \"schema\": 1")
    }
    guard let name = parts["catalogue"]?.text, PublicName.isWord(name) else {
      throw refuse("\"catalogue\" must be a name of 1 to 32 of a-z, 0-9 and hyphens")
    }
    guard let version = parts["version"]?.int, version > 0 else {
      throw refuse("\"version\" must be a number from 1")
    }
    var records: [PublicRecord] = []
    for (key, value) in parts.sorted(by: { $0.key < $1.key }) {
      if ["schema", "catalogue", "version", "retired"].contains(key) { continue }
      guard let type = CatalogueFile.types[key], let items = value.list else {
        throw refuse("\(ShownText.quoted(key)) is not a list of a catalogue")
      }
      for item in items {
        guard let id = item["id"]?.text else { throw refuse("an item of \(key) has no id") }
        records.append(
          try PublicRecord(
            type: type, id: id, revision: 1, fields: CatalogueFile.fields(of: item),
            body: item.canonical))
      }
    }
    self.name = name
    self.version = UInt64(version)
    self.records = records
  }

  /// The indexed fields of an item: its texts, numbers and booleans.
  private static func fields(of item: JSONValue) -> [PublicField] {
    guard case .object(let parts) = item else { return [] }
    return parts.flatMap { key, value -> [PublicField] in
      guard PublicName.isField(key), !unindexed.contains(key) else { return [] }
      return (value.list ?? [value]).compactMap { value in
        switch value {
        case .bool(let value): PublicField(key, .bool(value))
        case .int(let value): PublicField(key, .int(value))
        case .text(let value) where value.utf8.count <= PublicLimits.maximumFieldTextBytes:
          PublicField(key, .text(value))
        default: nil
        }
      }
    }
  }
}

/// The values of `--where`.
enum ConditionWords {
  /// Reads `field=value`: yes, no, a number, a range such as 10..30, or a word.
  ///
  /// A value in double quotes is always a word.
  ///
  /// - Throws: a usage failure that shows the forms.
  static func condition(_ text: String) throws -> PublicCondition {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      .map(String.init)
    guard parts.count == 2, PublicName.isField(parts[0]), !parts[1].isEmpty else {
      throw CommandFailure(
        .usage, "\(ShownText.quoted(text)) is not a condition",
        hint: "write --where category=calm, minutes=10..30 or adultHelp=no")
    }
    return PublicCondition(parts[0], try test(parts[1], of: parts[0]))
  }

  private static func test(_ text: String, of field: String) throws -> PublicCondition.Test {
    if text.count > 1, text.hasPrefix("\""), text.hasSuffix("\"") {
      return .equals(.text(String(text.dropFirst().dropLast())))
    }
    switch text {
    case "true", "yes": return .equals(.bool(true))
    case "false", "no": return .equals(.bool(false))
    default: break
    }
    if let number = Int64(text) { return .equals(.int(number)) }
    if let dots = text.range(of: "..") {
      let ends = [text[..<dots.lowerBound], text[dots.upperBound...]]
      let numbers = ends.map { Int64($0) }
      if zip(ends, numbers).allSatisfy({ $0.isEmpty || $1 != nil }), numbers != [nil, nil] {
        guard numbers[0] ?? .min <= numbers[1] ?? .max else {
          throw CommandFailure(.usage, "the range of \(field) is empty: \(text)")
        }
        return .range(least: numbers[0], most: numbers[1])
      }
      throw CommandFailure(
        .usage, "\(ShownText.quoted(text)) is not a range of \(field)",
        hint: "write 10..30, ..15 or 30..; write a word in double quotes, "
          + "such as \(field)='\"a..b\"'")
    }
    return .equals(.text(text))
  }
}
