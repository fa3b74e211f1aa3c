import HearthCRDT

/// A small value that a node keeps beside its records: its name in the store, and its coding.
///
/// Each fact is declared once, by the type that owns the value. So nothing reads the bytes of one
/// fact as the value of another.
package struct Fact<Value>: Sendable {
  /// The name in the store.
  package let name: String
  let encode: @Sendable (Value) throws -> [UInt8]
  let decode: @Sendable ([UInt8]) throws -> Value

  /// Declares a fact.
  ///
  /// - Parameters:
  ///   - name: The name in the store; no other fact has it.
  ///   - encode: Makes the bytes that the store keeps.
  ///   - decode: Reads them; throws if they are damaged.
  package init(
    _ name: String, encode: @escaping @Sendable (Value) throws -> [UInt8],
    decode: @escaping @Sendable ([UInt8]) throws -> Value
  ) {
    self.name = name
    self.encode = encode
    self.decode = decode
  }

  /// Declares a fact that is written by hand and read to its end.
  package init(
    _ name: String, write: @escaping @Sendable (Value, inout ByteWriter) -> Void,
    read: @escaping @Sendable (inout ByteReader) throws -> Value
  ) {
    self.init(name) { value in
      var writer = ByteWriter(capacity: 64)
      write(value, &writer)
      return writer.bytes
    } decode: { bytes in
      var reader = ByteReader(bytes)
      let value = try read(&reader)
      try reader.finish()
      return value
    }
  }
}

/// What the names of facts say.
package enum FactNames {
  /// How the names of caches begin.
  package static let cachePrefix = "cache."

  /// Whether a fact's owner works its value out again if it is missing.
  package static func isCache(_ name: String) -> Bool { name.hasPrefix(cachePrefix) }
}

extension Fact {
  /// The same fact as a cache: its owner works the value out again if it is missing.
  ///
  /// A store drops such a value if it is damaged, and reports every other one as an error.
  package var asCache: Fact {
    Fact(FactNames.cachePrefix + name, encode: encode, decode: decode)
  }
}

extension Fact<[UInt8]> {
  /// Declares a fact whose bytes only its owner understands.
  package init(bytes name: String) {
    self.init(name, encode: { $0 }, decode: { $0 })
  }
}

extension Fact<UInt64> {
  /// Declares a number, such as a moment in milliseconds.
  package init(number name: String) {
    self.init(name, write: { $1.fixed64($0) }, read: { try $0.fixed64("number") })
  }
}

extension Fact<Frontier> {
  /// Declares a frontier.
  package init(frontier name: String) {
    self.init(name, write: { $1.frontier($0) }, read: { try $0.frontier("frontier") })
  }
}

extension Fact<Identifier> {
  /// Declares an identifier.
  package init(identifier name: String) {
    self.init(name, encode: { $0.bytes }, decode: { try Identifier(checking: $0) })
  }
}

extension FactStore {
  /// The value of a fact; nil if it is not set.
  ///
  /// - Throws: What the fact's decoding throws, and the store's errors.
  package func value<Value>(of fact: Fact<Value>) throws -> Value? {
    try bytes(of: fact.name).map(fact.decode)
  }

  /// Sets a fact; nil removes it.
  package func set<Value>(_ fact: Fact<Value>, to value: Value?) throws {
    try setBytes(of: fact.name, to: value.map(fact.encode))
  }

  /// Whether a fact is set, whatever its value.
  package func has<Value>(_ fact: Fact<Value>) throws -> Bool {
    try bytes(of: fact.name) != nil
  }
}
