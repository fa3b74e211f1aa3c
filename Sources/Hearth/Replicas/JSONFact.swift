import Foundation
import HearthSync

/// Facts of a node that are kept as JSON.
enum JSONFact {
  /// Declares a fact of a coded type; equal values have equal bytes.
  static func named<Value: Codable & SendableMetatype>(
    _ name: String, of type: Value.Type = Value.self
  )
    -> Fact<Value>
  {
    Fact(name) { value in
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      return Array(try encoder.encode(value))
    } decode: { bytes in
      try JSONDecoder().decode(Value.self, from: Data(bytes))
    }
  }
}
