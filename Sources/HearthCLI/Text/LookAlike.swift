import Foundation

/// Names that people confuse, although their spelling differs.
///
/// It follows the skeletons of Unicode Technical Standard 39, section 4, with a table of characters
/// that are common in names instead of the whole list: letters of Latin, Cyrillic, Greek and
/// Armenian that look the same, digits like letters, fullwidth and mathematical forms, marks above
/// and below letters, spaces and invisible characters.
enum LookAlike {
  /// Whether two names look alike; a name looks like itself.
  ///
  /// Case matters only between `I`, `l` and `1`: `AIice` looks like `Alice`, and `Ian` does not
  /// look like `Lan`.
  static func looksLike(_ left: String, _ right: String) -> Bool {
    Skeleton(left).isLike(Skeleton(right))
  }

  /// Two forms of a name; names that look alike have at least one equal form.
  struct Skeleton: Hashable, Sendable {
    /// With a capital I as the small l that it looks like.
    let bySight: String
    /// With every letter in lower case.
    let byLetters: String

    init(_ name: String) {
      let letters = LookAlike.plainLetters(of: name)
      bySight = LookAlike.merged(
        letters.map { letter in
          switch letter {
          case "I", "1", "|": "l"
          case "L": "L"
          default: letter.lowercased()
          }
        })
      byLetters = LookAlike.merged(
        letters.map { $0 == "1" || $0 == "|" ? "l" : $0.lowercased() })
    }

    func isLike(_ other: Skeleton) -> Bool {
      bySight == other.bySight || byLetters == other.byLetters
    }
  }

  // MARK: Skeletons

  /// The letters of a name without marks, in their Latin forms if they have one.
  private static func plainLetters(of name: String) -> [Character] {
    var letters: [Character] = []
    var isAfterSpace = true
    for scalar in name.decomposedStringWithCompatibilityMapping.unicodeScalars {
      if scalar.properties.isWhitespace || scalar == "\u{2800}" {
        if !isAfterSpace { letters.append(" ") }
        isAfterSpace = true
        continue
      }
      guard !isLeftOut(scalar) else { continue }
      isAfterSpace = false
      let letter = Character(scalar)
      letters.append(contentsOf: folded(table[letter] ?? letter))
    }
    if letters.last == " " { letters.removeLast() }
    return letters
  }

  /// Invisible characters, and marks with which a letter still looks like itself.
  private static func isLeftOut(_ scalar: Unicode.Scalar) -> Bool {
    VisibleText.isHidden(scalar) || marks.contains { $0.contains(scalar.value) }
  }

  /// Blocks of marks; marks of other scripts, such as of Devanagari and Japanese, distinguish
  /// names.
  private static let marks: [ClosedRange<UInt32>] = [
    0x0300...0x036F, 0x0483...0x0487, 0x0591...0x05BD, 0x05C1...0x05C2, 0x0640...0x0640,
    0x064B...0x065F, 0x0670...0x0670, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF,
    0xFE20...0xFE2F,
  ]

  /// The replacement of a character that represents several letters.
  private static func folded(_ letter: Character) -> [Character] {
    switch letter {
    case "æ", "ӕ": ["a", "e"]
    case "Æ", "Ӕ": ["A", "E"]
    case "œ": ["o", "e"]
    case "Œ": ["O", "E"]
    case "ß", "ẞ": ["s", "s"]
    default: [letter]
    }
  }

  /// Joins letters that together look like one.
  private static func merged(_ letters: [String]) -> String {
    letters.joined().replacing("rn", with: "m").replacing("vv", with: "w")
  }

  // MARK: Table

  /// Maps a character to the Latin letter that it looks like.
  private static let table: [Character: Character] = {
    var table: [Character: Character] = [:]
    for row in rows {
      for (letter, latin) in zip(row.letters, row.latin) { table[letter] = latin }
    }
    return table
  }()

  private static let rows: [(letters: String, latin: String)] = [
    ("0ǀ∣", "O||"),
    // Latin: letters with strokes and hooks, without dots, and small capitals.
    ("ıȷɑɡɩłŁøØđĐħĦŧŦƀɓɗɖƙƚɫɱŋƞɵƥʂƭʋƴƶ", "ijagilLoOdDhHtTbbddkllmnnopstvyz"),
    ("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "ABCDEFGHIJKLMNOPRSTUVWYZ"),
    // Cyrillic.
    ("АВЕЅІЈКМНОРСТУХЗԌԚԜҮҺѴ", "ABESIJKMHOPCTYX3GQWYhV"),
    ("авеѕіјкмнорстухзгпьһԁԛԝѵӏӀ", "abesijkmhopctyx3rnbhdqwvll"),
    // Greek.
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "ABEZHIKMNOPTYXC"),
    ("αεηικνορστυχωγϲϳ", "aenikvopotuxwycj"),
    // Armenian.
    ("օսհոցյզքՕՍԼ", "ouhnqjqpOUL"),
    // Dashes and apostrophes.
    ("‐‑‒–—―−‘’‛ʼʻ′`´", "-------''''''''"),
  ]
}
