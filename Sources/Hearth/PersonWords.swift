import HearthCrypto

/// Twelve recovery words of a person, on their way between the person and the node.
///
/// Nothing stores them. Whoever has them and reaches a shared folder has everything the person has.
package struct PersonWords: Sendable {
  let words: RecoveryWords

  /// Draws new words.
  package static func drawn() throws -> PersonWords { PersonWords(words: try .random()) }

  private init(words: RecoveryWords) {
    self.words = words
  }

  /// Reads words as a person types them; the text is set to zero.
  ///
  /// - Throws: ``HearthError`` `invalid` that says which word is wrong, and may quote words of the
  ///   list that are near it: show it, but log it nowhere.
  package init(consuming typed: inout [UInt8]) throws {
    do {
      words = try RecoveryWords(consuming: &typed)
    } catch {
      throw HearthError(
        .invalid, "these are not recovery words: \(Hearth.words(of: error))", cause: error)
    }
  }

  /// The twelve words in their order, for the screen of the person.
  package func texts() -> [String] { words.withWords { $0.map(\.text) } }

  /// Whether what was typed is the word at a place from 1; the text is set to zero.
  package func isWord(consuming typed: inout [UInt8], at place: Int) -> Bool {
    words.isWord(consuming: &typed, at: place)
  }

  /// Two places to ask for, by chance, the lower one first.
  package static func placesToAsk() -> (first: Int, second: Int) {
    let bytes = RandomBytes.make(2).map(Int.init)
    let first = bytes[0] % RecoveryWords.wordCount
    let second = (first + 1 + bytes[1] % (RecoveryWords.wordCount - 1)) % RecoveryWords.wordCount
    return (min(first, second) + 1, max(first, second) + 1)
  }
}
