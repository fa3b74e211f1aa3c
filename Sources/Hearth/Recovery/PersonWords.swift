import HearthCrypto

/// Twelve recovery words of a person, in transit between the person and the node.
///
/// Nothing stores them. Anybody who has them and reaches a shared folder gets all the person's
/// data.
package struct PersonWords: Sendable {
  let words: RecoveryWords

  /// Draws new random words.
  package static func drawn() throws -> PersonWords { PersonWords(words: try .random()) }

  private init(words: RecoveryWords) {
    self.words = words
  }

  /// Reads words as a person types them, and overwrites the text with zeros.
  ///
  /// - Throws: ``HearthError`` `invalid` that names the wrong word, and may quote similar words of
  ///   the list: show it, but never log it.
  package init(consuming typed: inout [UInt8]) throws {
    do {
      words = try RecoveryWords(consuming: &typed)
    } catch {
      throw HearthError(
        .invalid, "these are not recovery words: \(Hearth.words(of: error))", cause: error)
    }
  }

  /// Returns the twelve words in their order, for the person's screen.
  package func texts() -> [String] { words.withWords { $0.map(\.text) } }

  /// Whether the typed text is the word at a place from 1; the text is overwritten with zeros.
  package func isWord(consuming typed: inout [UInt8], at place: Int) -> Bool {
    words.isWord(consuming: &typed, at: place)
  }

  /// Returns two random places to ask for, the lower one first.
  package static func placesToAsk() -> (first: Int, second: Int) {
    let bytes = RandomBytes.make(2).map(Int.init)
    let first = bytes[0] % RecoveryWords.wordCount
    let second = (first + 1 + bytes[1] % (RecoveryWords.wordCount - 1)) % RecoveryWords.wordCount
    return (min(first, second) + 1, max(first, second) + 1)
  }
}
