import Foundation

/// How a field stores a value that is of none of the types that fields can have.
public enum FieldCoding: Sendable {
  /// As JSON: the whole value is one, and of two concurrent ones the later is shown.
  ///
  /// The members of objects are in the order of their names, and a date is a whole number of
  /// milliseconds since 1970. A `Set` inside has no fixed order: use a sorted array.
  case json
}

/// Codes values as JSON, of which one value has one text on every machine.
enum JSONCoding {
  /// The most bytes of a coded value.
  static let maximumBytes = 64 * 1024

  /// Returns the text of a value.
  ///
  /// - Throws: `invalid` if the value cannot be coded; `tooLarge`.
  static func text(of value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .custom { date, encoder in
      guard case .int(let milliseconds) = date.stored else { return }
      var container = encoder.singleValueContainer()
      try container.encode(milliseconds)
    }
    let data: Data
    do {
      data = try encoder.encode(value)
    } catch {
      throw HearthError(.invalid, "a value cannot be coded as JSON", cause: error)
    }
    guard data.count <= maximumBytes else {
      throw HearthError(
        .tooLarge, "a value has \(data.count) bytes as JSON, but at most \(maximumBytes) fit")
    }
    return String(decoding: data, as: UTF8.self)
  }

  /// Reads a value from its text; nil if it does not fit, such as one of a newer program.
  static func value<Coded: Decodable>(of text: String) -> Coded? {
    guard text.utf8.count <= maximumBytes else { return nil }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .custom { decoder in
      let milliseconds = try decoder.singleValueContainer().decode(Int64.self)
      return Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
    return try? decoder.decode(Coded.self, from: Data(text.utf8))
  }
}
