import Foundation
import Testing

@testable import HearthCLI

@Suite("Text of others with everything visible")
struct VisibleTextTests {
  private func shown(_ text: String) -> String { VisibleText.shown(text) }

  private func scalar(_ value: UInt32) -> Unicode.Scalar? { Unicode.Scalar(value) }

  private func number(_ value: UInt32) -> String {
    "⟨U+" + String(format: "%04X", value) + "⟩"
  }

  @Test("What people write stays as it is")
  func plain() {
    for text in [
      "", "Wash the dishes", "Küche 🧹 plain", "Ćwiartka½", "掃除する", "한국어", "مرحبا", "हिन्दी", "ไทย",
      "a\u{A0}b", "l\u{2019}été\u{202F}!", "東\u{3000}京", "e\u{301}", "⟨U+200B⟩", "�",
    ] {
      #expect(shown(text) == text)
    }
  }

  @Test("Every control, separator and invisible character is written as its number")
  func hidden() {
    for range: ClosedRange<UInt32> in [
      0x0...0x1F, 0x7F...0x9F,  // controls
      0xAD...0xAD, 0x34F...0x34F, 0x61C...0x61C,  // soft hyphen, joiner of graphemes, Arabic mark
      0x115F...0x1160, 0x3164...0x3164, 0xFFA0...0xFFA0,  // fillers of Hangul
      0x17B4...0x17B5, 0x180B...0x180F,  // Khmer vowels, Mongolian selectors and separator
      0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F,  // widths, separators, directions
      0x2800...0x2800, 0x1D159...0x1D159, 0x16FE4...0x16FE4, 0xFE00...0xFE0F, 0xFEFF...0xFEFF,
      0xFFF0...0xFFFB,
      0xE000...0xE001, 0xF8FF...0xF8FF,  // private use
      0x1BCA0...0x1BCA3, 0x1D173...0x1D17A,  // shorthand and music
      0xE0000...0xE01EF,  // tags and further selectors
      0xF0000...0xF0001, 0x10FFFD...0x10FFFD,
      0x378...0x379, 0xFFFE...0xFFFF, 0xFDD0...0xFDEF,  // not assigned, never characters
    ] {
      for value in range {
        guard let scalar = scalar(value) else { continue }
        #expect(shown("a\(Character(scalar))b") == "a\(number(value))b", "\(number(value))")
        #expect(shown(String(Character(scalar))) == number(value), "\(number(value))")
      }
    }
  }

  @Test("No character of all that do not show themselves stays between two letters")
  func exhaustive() {
    var left: [String] = []
    var gone: [String] = []
    for value in UInt32(0)...0x10FFFF {
      guard let scalar = scalar(value) else { continue }
      let isShown = shown("a\(String(scalar))b").unicodeScalars.contains(scalar)
      let properties = scalar.properties
      switch properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
        .unassigned:
        if isShown { left.append(number(value)) }
      case .uppercaseLetter, .lowercaseLetter, .decimalNumber, .spaceSeparator, .mathSymbol:
        if !isShown { gone.append(number(value)) }
      default:
        if isShown, properties.isDefaultIgnorableCodePoint { left.append(number(value)) }
      }
    }
    #expect(left == [])
    #expect(gone == [])
  }

  @Test("An emoji keeps what it is made of")
  func emoji() {
    for text in [
      "👩‍👩‍👧‍👦", "🏳️‍🌈", "🏴‍☠️", "👨🏽‍🚒", "❤️‍🔥", "☎️", "☎︎", "1️⃣", "#️⃣", "🇩🇪", "👁️‍🗨️", "🧑🏻‍❤️‍💋‍🧑🏿",
    ] {
      #expect(shown(text) == text)
      #expect(shown("a \(text) b") == "a \(text) b")
    }
  }

  @Test("A selector or joiner that an emoji does not need is visible")
  func noEmoji() {
    #expect(shown("a\u{FE0F}") == "a⟨U+FE0F⟩")
    #expect(shown("1\u{FE0F}") == "1⟨U+FE0F⟩")
    #expect(shown("1\u{FE0E}") == "1⟨U+FE0E⟩")
    #expect(shown("©\u{200D}®") == "©⟨U+200D⟩®")
    #expect(shown("™\u{200D}🧹") == "™⟨U+200D⟩🧹")
    #expect(shown("1\u{FE0F}\u{20E2}") == "1⟨U+FE0F⟩\u{20E2}")
    #expect(shown("☎\u{FE0F}\u{FE0F}") == "☎\u{FE0F}⟨U+FE0F⟩")
    #expect(shown("☎\u{FE01}") == "☎⟨U+FE01⟩")
    #expect(shown("🧹\u{200D}") == "🧹⟨U+200D⟩")
    #expect(shown("🧹\u{200D}a") == "🧹⟨U+200D⟩a")
    #expect(shown("🧹\u{200D}1") == "🧹⟨U+200D⟩1")
    #expect(shown("1\u{200D}🧹") == "1⟨U+200D⟩🧹")
    #expect(shown("🧹\u{200D}\u{200D}🧹") == "🧹⟨U+200D⟩⟨U+200D⟩🧹")
    #expect(shown("\u{200D}🧹") == "⟨U+200D⟩🧹")
    #expect(shown("🏴\u{E0067}\u{E0062}\u{E007F}") == "🏴⟨U+E0067⟩⟨U+E0062⟩⟨U+E007F⟩")
  }

  @Test("Joiners stay between letters of scripts that need them")
  func scripts() {
    for text in [
      "می\u{200C}خواهم", "کتاب\u{200C}ها",  // Persian
      "क्\u{200D}ष", "क्\u{200C}ष", "র\u{200D}্য",  // Devanagari, Bengali
      "ന്\u{200D}", "ශ්\u{200D}රී",  // Malayalam, Sinhala
    ] {
      #expect(shown(text) == text)
    }
  }

  @Test("Joiners elsewhere are visible")
  func noScript() {
    for joiner in ["\u{200C}", "\u{200D}"] {
      let number = joiner == "\u{200C}" ? "⟨U+200C⟩" : "⟨U+200D⟩"
      #expect(shown("An\(joiner)na") == "An\(number)na")
      #expect(shown("Ан\(joiner)на") == "Ан\(number)на")
      #expect(shown("می\(joiner)") == "می\(number)")
      #expect(shown("می\(joiner) a") == "می\(number) a")
      #expect(shown("می\(joiner)क") == "می\(number)क")
      #expect(shown("\(joiner)می") == "\(number)می")
      #expect(shown("می\(joiner)\(joiner)خ") == "می\(number)\(number)خ")
      #expect(shown("٣\(joiner)٤") == "٣\(number)٤")
    }
  }

  @Test("As many marks as a letter can have stay, and none of a pile beyond them")
  func piles() {
    let most = VisibleText.maximumMarks
    let fits = "a" + String(repeating: "\u{301}", count: most)
    #expect(shown(fits + "b" + fits) == fits + "b" + fits)
    #expect(shown(fits + "\u{301}\u{301}b") == fits + "⟨U+0301⟩⟨U+0301⟩b")
    #expect(shown("שָּׁ֣לוֹם") == "שָּׁ֣לוֹם")
  }

  @Test("What is printed keeps line ends, tabs and emphasis, and no other control character")
  func guarded() {
    let plain = "a\tb\nc"
    #expect(VisibleText.guarded(plain) == plain)
    let emphasis = "\u{1B}[1mné\u{1B}[0m\n\u{1B}[30;47m█\u{1B}[0m"
    #expect(VisibleText.guarded(emphasis) == emphasis)
    for (text, shown) in [
      ("\u{1B}[2Jx", "⟨U+001B⟩[2Jx"), ("\u{1B}]0;t\u{7}", "⟨U+001B⟩]0;t⟨U+0007⟩"),
      ("\u{1B}[", "⟨U+001B⟩["), ("\u{1B}[31", "⟨U+001B⟩[31"), ("a\rb", "a⟨U+000D⟩b"),
      ("a\u{2028}b", "a⟨U+2028⟩b"), ("a\r\nb", "a⟨U+000D⟩\nb"), ("x\u{9B}2J", "x⟨U+009B⟩2J"),
      ("\u{202E}abc\n\u{AD}", "⟨U+202E⟩abc\n⟨U+00AD⟩"),
    ] {
      #expect(VisibleText.guarded(text) == shown)
    }
  }

  @Test("What was shown once is shown again as it is")
  func twice() {
    let text = "a\u{1B}[31mb\u{202E}c\u{200B}\u{E0041}\r\n"
    #expect(shown(text) == "a⟨U+001B⟩[31mb⟨U+202E⟩c⟨U+200B⟩⟨U+E0041⟩⟨U+000D⟩⟨U+000A⟩")
    #expect(shown(shown(text)) == shown(text))
  }

  @Test("A JSON document means the same with its hidden characters escaped")
  func json() throws {
    let value = ["k\u{200B}": "a\u{9B}\u{7F}\u{202E}\u{E0041}\u{2028}é🧹‍x \"\\\n"]
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted]
    let plain = String(decoding: try encoder.encode(value), as: UTF8.self)
    let escaped = VisibleText.escapingJSON(plain)
    #expect(escaped.contains(#"a\u009b\u007f\u202e\udb40\udc41\u2028é🧹\u200dx"#))
    #expect(escaped.contains("\n") && escaped.contains(#""k\u200b""#))
    let read = try JSONDecoder().decode([String: String].self, from: Data(escaped.utf8))
    #expect(read == value)
  }
}
