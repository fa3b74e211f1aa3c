/// Text of others with every hidden character made visible.
///
/// Names and titles come from other devices. Control characters could move the cursor or change
/// earlier output, marks of direction reorder a line, and invisible characters make two different
/// names look the same.
enum VisibleText {
  /// Returns the text with the number of each hidden character in its place, such as `⟨U+200B⟩`.
  ///
  /// Characters that a script or an emoji needs stay: joiners between letters of scripts that have
  /// them, joiners and presentation selectors within an emoji. A second application changes
  /// nothing, because the numbers are visible.
  static func shown(_ text: String) -> String {
    replacingHidden(in: text) { "⟨U+\(digits(of: $0))⟩" }
  }

  /// Returns a JSON document with the escape of each hidden character in its place (RFC 8259,
  /// section 7).
  ///
  /// Programs read the same text, and a reader on a terminal sees every character. Line breaks
  /// stay, because no string of a document contains one.
  static func escapingJSON(_ document: String) -> String {
    replacingHidden(in: document) { scalar in
      scalar == "\n"
        ? "\n" : String(scalar).utf16.map { "\\u" + padded($0) }.joined()
    }
  }

  /// Returns a whole text for printing, with numbers in place of hidden characters.
  ///
  /// Line ends, tabs and emphasis (`ESC [ digits m`) stay.
  static func guarded(_ text: String) -> String {
    var text = text
    let isPlain = text.withUTF8 {
      $0.allSatisfy { (0x20..<0x7F).contains($0) || $0 == 0x0A || $0 == 0x09 }
    }
    if isPlain { return text }
    let scalars = Array(text.unicodeScalars)
    var result = ""
    var part = String.UnicodeScalarView()
    func end() {
      result += shown(String(part))
      part.removeAll()
    }
    var place = 0
    while place < scalars.count {
      let emphasis = emphasisLength(at: place, in: scalars)
      if emphasis > 0 || scalars[place] == "\n" || scalars[place] == "\t" {
        end()
        let count = max(1, emphasis)
        result.unicodeScalars.append(contentsOf: scalars[place..<place + count])
        place += count
      } else {
        part.append(scalars[place])
        place += 1
      }
    }
    end()
    return result
  }

  /// The length of an emphasis sequence at a place; 0 if there is none.
  private static func emphasisLength(at place: Int, in scalars: [Unicode.Scalar]) -> Int {
    guard scalars[place] == "\u{1B}", place + 1 < scalars.count, scalars[place + 1] == "[" else {
      return 0
    }
    var end = place + 2
    while end < scalars.count, ("0"..."9").contains(scalars[end]) || scalars[end] == ";" {
      end += 1
    }
    return end < scalars.count && scalars[end] == "m" ? end + 1 - place : 0
  }

  private static func replacingHidden(
    in text: String, with words: (Unicode.Scalar) -> String
  ) -> String {
    var text = text
    let isPlain = text.withUTF8 { $0.allSatisfy { (0x20..<0x7F).contains($0) } }
    if isPlain { return text }
    let scalars = Array(text.unicodeScalars)
    var result = String.UnicodeScalarView()
    var marks = 0
    for (place, scalar) in scalars.enumerated() {
      marks = isMark(scalar) ? marks + 1 : 0
      if isHidden(scalar) && !isNeeded(at: place, in: scalars) || marks > maximumMarks {
        result.append(contentsOf: words(scalar).unicodeScalars)
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }

  /// The number as Unicode writes it, with at least four digits.
  private static func digits(of scalar: Unicode.Scalar) -> String {
    let text = String(scalar.value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - text.count)) + text
  }

  private static func padded(_ unit: UInt16) -> String {
    let text = String(unit, radix: 16)
    return String(repeating: "0", count: 4 - text.count) + text
  }

  // MARK: Hidden characters

  /// Whether a character is hidden, or unassigned.
  ///
  /// The general category decides, and Unicode's list of characters that are ignored where they
  /// cannot be displayed (`Default_Ignorable_Code_Point`: variation selectors, fillers of Hangul,
  /// joiners). The empty pattern of Braille is neither and looks like a space. Spaces of any width
  /// count as visible.
  static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x7F else { return scalar.value < 0x20 }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
      .unassigned:
      return true
    default:
      return scalar.properties.isDefaultIgnorableCodePoint || blanks.contains(scalar)
    }
  }

  /// Characters that look like a space and are none.
  ///
  /// These are the empty pattern of Braille, a note of music without a head, and the filler of the
  /// small script of Khitan.
  private static let blanks: [Unicode.Scalar] = ["\u{2800}", "\u{1D159}", "\u{16FE4}"]

  /// The most marks on one letter, more than any script has: a pile of marks covers other lines.
  static let maximumMarks = 8

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value >= 0x300 else { return false }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return true
    default: return false
    }
  }

  private static let joiner: Unicode.Scalar = "\u{200D}"
  private static let nonJoiner: Unicode.Scalar = "\u{200C}"
  private static let textSelector: Unicode.Scalar = "\u{FE0E}"
  private static let emojiSelector: Unicode.Scalar = "\u{FE0F}"
  private static let keycap: Unicode.Scalar = "\u{20E3}"

  // MARK: Needed characters

  /// Whether a hidden character has a visible effect at its place.
  private static func isNeeded(at place: Int, in scalars: [Unicode.Scalar]) -> Bool {
    guard place > 0 else { return false }
    let before = scalars[place - 1]
    let after = place + 1 < scalars.count ? scalars[place + 1] : nil
    switch scalars[place] {
    case emojiSelector where isASCII(before): return isEmoji(before) && after == keycap
    case textSelector where isASCII(before): return false
    case emojiSelector, textSelector: return isEmoji(before)
    case joiner where endsEmoji(place, in: scalars):
      return after.map(isPartOfEmoji) ?? false
    case joiner, nonJoiner: return joins(before, after)
    default: return false
    }
  }

  private static func isASCII(_ scalar: Unicode.Scalar) -> Bool { scalar.value < 0x80 }

  private static func isEmoji(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isEmoji }

  /// Whether an emoji ends before a place, its presentation selector included.
  private static func endsEmoji(_ place: Int, in scalars: [Unicode.Scalar]) -> Bool {
    var last = scalars[place - 1]
    if last == emojiSelector, place > 1 { last = scalars[place - 2] }
    return isPartOfEmoji(last)
  }

  /// Whether emoji join this character; text symbols such as © and ™ do not count.
  private static func isPartOfEmoji(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value >= 0x2190 && isEmoji(scalar)
  }

  /// Whether a joiner between two characters belongs to their script (after RFC 5892, appendix A).
  ///
  /// Joiners choose between forms of letters in Arabic-like and Indic scripts. They belong between
  /// two letters or marks of one group of scripts, and after the mark that removes a consonant's
  /// vowel.
  private static func joins(_ before: Unicode.Scalar, _ after: Unicode.Scalar?) -> Bool {
    guard let group = joiningGroups.firstIndex(where: { $0.contains(before.value) }),
      isLetterOrMark(before)
    else { return false }
    if before.properties.canonicalCombiningClass == .virama { return true }
    guard let after, isLetterOrMark(after) else { return false }
    return joiningGroups[group].contains(after.value)
  }

  /// Blocks of scripts that use joiners between letters.
  private static let joiningGroups: [ClosedRange<UInt32>] = [
    0x0600...0x08FF,  // Arabic, Syriac, N'Ko and their neighbours
    0x0900...0x0DFF,  // Devanagari to Sinhala
    0x0F00...0x0FFF,  // Tibetan
    0x1000...0x109F,  // Myanmar
    0x1780...0x17FF,  // Khmer
    0x1800...0x18AF,  // Mongolian
  ]

  private static func isLetterOrMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark:
      !isHidden(scalar)
    default: false
    }
  }
}
