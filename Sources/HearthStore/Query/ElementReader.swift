import Foundation
import HearthCRDT

/// Reads the column of a set, which is a JSON array.
enum ElementReader {
  /// Returns the elements; bytes are hexadecimal in the column.
  static func elements(of json: String, as type: FieldType) throws -> [Value] {
    if json == "[]" { return [] }
    let decoded = try? JSONDecoder().decode([Element].self, from: Data(json.utf8))
    guard let decoded else {
      throw StoreError(.corrupt, "the column of a set in the node's database is damaged")
    }
    return decoded.map { element in
      guard type == .bytes, case .text(let text) = element.value,
        let bytes = ColumnCodec.bytes(hex: text)
      else { return element.value }
      return .bytes(bytes)
    }
  }

  private struct Element: Decodable {
    let value: Value

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        value = .null
      } else if let truth = try? container.decode(Bool.self) {
        value = .bool(truth)
      } else if let number = try? container.decode(Int64.self) {
        value = .int(number)
      } else {
        value = .text(try container.decode(String.self))
      }
    }
  }
}
