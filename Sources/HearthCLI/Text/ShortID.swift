import HearthCRDT

/// Ids as displayed.
enum ShortID {
  static let characters = 8

  static func text(_ id: Identifier) -> String { String(id.hex.prefix(characters)) }
}
