import HearthCRDT

/// Describes how a value inside a control operation is written and read, in one description.
package struct ControlCodec<Value>: Sendable {
  let write: @Sendable (Value, inout ByteWriter) -> Void
  let read: @Sendable (inout ByteReader) throws(CodecError) -> Value
}

extension ControlCodec {
  /// A value of several fields, one after the other, in the order of the initializer's arguments.
  init<each Field>(
    _ make: @escaping @Sendable (repeat each Field) -> Value,
    _ fields: repeat (any KeyPath<Value, each Field> & Sendable, ControlCodec<each Field>)
  ) {
    self.init { value, writer in
      repeat (each fields).1.write(value[keyPath: (each fields).0], &writer)
    } read: { reader throws(CodecError) in
      make(repeat try (each fields).1.read(&reader))
    }
  }

  /// The same codec with a condition on values that are read.
  func checked(_ item: String, _ isCanonical: @escaping @Sendable (Value) -> Bool) -> Self {
    Self(write: write) { [read] reader throws(CodecError) in
      let start = reader.offset
      let value = try read(&reader)
      guard isCanonical(value) else { throw CodecError(.notCanonical, item, offset: start) }
      return value
    }
  }
}

/// A type with canonical bytes inside a control operation.
package protocol ControlCodable: Equatable, Sendable {
  /// The description of the type's bytes.
  static var codec: ControlCodec<Self> { get }
}

extension ControlCodable {
  /// The canonical bytes.
  package var encoded: [UInt8] {
    var writer = ByteWriter()
    encode(into: &writer)
    return writer.bytes
  }

  /// Writes the canonical bytes.
  package func encode(into writer: inout ByteWriter) { Self.codec.write(self, &writer) }

  /// Reads the canonical bytes and stops after them.
  package init(from reader: inout ByteReader) throws(CodecError) {
    self = try Self.codec.read(&reader)
  }
}

// MARK: - Fields and lists

extension ControlCodec {
  static func identifier(_ item: String) -> Self where Value == Identifier {
    Self(
      write: { $1.identifier($0) },
      read: { reader throws(CodecError) in try reader.identifier(item) })
  }

  static func identifier(_ item: String) -> Self where Value == Identifier? {
    Self { identifier, writer in
      writer.byte(identifier == nil ? 0 : 1)
      if let identifier { writer.identifier(identifier) }
    } read: { reader throws(CodecError) in
      try reader.flag(item) ? try reader.identifier(item) : nil
    }
  }

  static func raw(_ count: Int, _ item: String) -> Self where Value == [UInt8] {
    Self(write: { $1.raw($0) }, read: { reader throws(CodecError) in try reader.raw(count, item) })
  }

  static func blob(_ item: String, atMost limit: Int) -> Self where Value == [UInt8] {
    Self(
      write: { $1.blob($0) },
      read: { reader throws(CodecError) in try reader.blob(item, atMost: limit) })
  }

  static func sealed(_ item: String) -> Self where Value == [UInt8] {
    blob(item, atMost: ControlLimits.maximumSealedBytes)
  }

  static func name(_ item: String) -> Self where Value == String {
    Self(
      write: { $1.text($0) },
      read: { reader throws(CodecError) in
        try reader.text(item, atMost: ControlLimits.maximumNameBytes)
      })
  }

  static func byte(_ item: String) -> Self where Value == UInt8 {
    Self(write: { $1.byte($0) }, read: { reader throws(CodecError) in try reader.byte(item) })
  }

  static func fixed64(_ item: String) -> Self where Value == UInt64 {
    Self(write: { $1.fixed64($0) }, read: { reader throws(CodecError) in try reader.fixed64(item) })
  }

  /// The number of a change in its author's log.
  static func sequence(_ item: String) -> Self where Value == UInt64 {
    Self {
      $1.varint($0)
    } read: { reader throws(CodecError) in
      let start = reader.offset
      let value = try reader.varint(item)
      guard value > 0 else { throw CodecError(.notCanonical, item, offset: start) }
      guard value <= Frontier.maximumSequence else {
        throw CodecError(.beyondLimit, item, offset: start)
      }
      return value
    }
  }

  static func number(_ item: String, atMost limit: Int) -> Self where Value == Int {
    Self(
      write: { $1.varint($0) },
      read: { reader throws(CodecError) in try reader.varint(item, atMost: limit) })
  }

  static func flag(_ item: String) -> Self where Value == Bool {
    Self(
      write: { $1.byte($0 ? 1 : 0) }, read: { reader throws(CodecError) in try reader.flag(item) })
  }

  static func choice(_ item: String) -> Self where Value: RawRepresentable<UInt8> & Sendable {
    Self(
      write: { $1.byte($0.rawValue) },
      read: { reader throws(CodecError) in try reader.choice(item, Value.init(rawValue:)) })
  }

  static func author(_ item: String) -> Self where Value == Author {
    Self(write: { $1.author($0) }, read: { reader throws(CodecError) in try reader.author(item) })
  }

  static func frontier(_ item: String) -> Self where Value == Frontier {
    Self(
      write: { $1.frontier($0) }, read: { reader throws(CodecError) in try reader.frontier(item) })
  }

  /// A list of items that take at least `itemBytes` each.
  static func list<Item>(
    _ item: String, itemBytes: Int, atMost limit: Int = ControlLimits.maximumItems,
    of codec: ControlCodec<Item>
  ) -> Self where Value == [Item] {
    Self { items, writer in
      writer.varint(items.count)
      for item in items { codec.write(item, &writer) }
    } read: { reader throws(CodecError) in
      var items: [Item] = []
      for _ in 0..<(try reader.count(item, itemBytes: itemBytes, atMost: limit)) {
        items.append(try codec.read(&reader))
      }
      return items
    }
  }

  /// A list in strict order of a key, so that it has one encoding and no duplicates.
  static func sorted<Item>(
    _ item: String, itemBytes: Int, atMost limit: Int = ControlLimits.maximumItems,
    of codec: ControlCodec<Item>, by isOrdered: @escaping @Sendable (Item, Item) -> Bool
  ) -> Self where Value == [Item] {
    list(item, itemBytes: itemBytes, atMost: limit, of: codec).checked(item) { items in
      zip(items, items.dropFirst()).allSatisfy(isOrdered)
    }
  }
}
