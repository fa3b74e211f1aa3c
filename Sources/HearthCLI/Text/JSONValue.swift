import Foundation

/// A JSON value with whole numbers only, and its one canonical spelling.
enum JSONValue: Sendable, Equatable, Codable {
  case null
  case bool(Bool)
  case int(Int64)
  case text(String)
  case list([JSONValue])
  case object([String: JSONValue])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .int(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .list(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .list(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }

  init(parsing text: String) throws {
    self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
  }

  /// The canonical spelling: keys by their bytes, no spaces, as few escapes as possible.
  var canonical: String {
    switch self {
    case .null: "null"
    case .bool(let value): value ? "true" : "false"
    case .int(let value): String(value)
    case .text(let value): JSONValue.quoted(value)
    case .list(let values): "[" + values.map(\.canonical).joined(separator: ",") + "]"
    case .object(let values):
      "{"
        + values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        .map { "\(JSONValue.quoted($0.key)):\($0.value.canonical)" }.joined(separator: ",") + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }

  /// The value of a key, if this is an object.
  subscript(key: String) -> JSONValue? {
    if case .object(let values) = self { values[key] } else { nil }
  }

  var text: String? { if case .text(let value) = self { value } else { nil } }
  var int: Int64? { if case .int(let value) = self { value } else { nil } }
  var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  var list: [JSONValue]? { if case .list(let value) = self { value } else { nil } }

  /// The value as displayed: texts without quotes, lists with commas.
  var shown: String {
    switch self {
    case .text(let value): value
    case .list(let values): values.map(\.shown).joined(separator: ", ")
    case .bool(let value): value ? "yes" : "no"
    default: canonical
    }
  }
}
