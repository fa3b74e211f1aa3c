/// The identity of one character of a text: the change that inserted it, and the character's number
/// among those that this change inserted into the text.
///
/// A character is a Unicode scalar.
package struct TextPlace: Hashable, Comparable, Sendable {
  package let dot: Dot
  package let offset: Int

  package init(dot: Dot, offset: Int) {
    self.dot = dot
    self.offset = offset
  }

  package static func < (left: TextPlace, right: TextPlace) -> Bool {
    left.dot != right.dot ? left.dot < right.dot : left.offset < right.offset
  }
}

/// Where inserted characters belong: beside a character, or at the beginning of an empty text.
package enum TextAnchor: Hashable, Sendable {
  /// In a text that has no character yet.
  case start
  /// Before a character, and behind what others insert before it with a lesser identity.
  case before(TextPlace)
  /// Behind a character, and behind what others insert behind it with a lesser identity.
  case behind(TextPlace)

  /// The character; nil for the beginning.
  package var place: TextPlace? {
    switch self {
    case .start: nil
    case .before(let place), .behind(let place): place
    }
  }
}

/// Neighbouring characters that one insertion made.
package struct TextSpan: Hashable, Sendable {
  /// The first of them.
  package let first: TextPlace
  /// How many there are, at least 1.
  package let count: Int

  package init(first: TextPlace, count: Int) {
    self.first = first
    self.count = count
  }
}

/// One step of a change of a text.
package enum TextEdit: Hashable, Sendable {
  /// Inserts at least one character.
  case insert(String, TextAnchor)
  /// Erases characters of one insertion.
  case erase(TextSpan)

  /// The characters that the edit names.
  package var named: TextPlace? {
    switch self {
    case .insert(_, let anchor): anchor.place
    case .erase(let span): span.first
    }
  }

  /// The number of characters that the edit erases; nil if it inserts.
  package var erased: Int? {
    if case .erase(let span) = self { span.count } else { nil }
  }

  /// Whether the edit inserts nothing, which no program writes.
  package var isEmpty: Bool {
    if case .insert(let text, _) = self { text.isEmpty } else { false }
  }

  /// The same edit where each change has another name.
  package func renamed(_ dot: (Dot) -> Dot) -> TextEdit {
    func place(_ place: TextPlace) -> TextPlace {
      TextPlace(dot: dot(place.dot), offset: place.offset)
    }
    return switch self {
    case .insert(_, .start): self
    case .insert(let text, .before(let named)): .insert(text, .before(place(named)))
    case .insert(let text, .behind(let named)): .insert(text, .behind(place(named)))
    case .erase(let span): .erase(TextSpan(first: place(span.first), count: span.count))
    }
  }
}
