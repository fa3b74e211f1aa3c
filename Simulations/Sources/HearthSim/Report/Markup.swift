import Foundation

/// Small pieces of HTML and SVG.
enum Markup {
  /// Text that stands for itself.
  static func text(_ text: String) -> String {
    var out = ""
    for character in text {
      switch character {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "\"": out += "&quot;"
      default: out.append(character)
      }
    }
    return out
  }

  /// At most so many letters.
  static func short(_ text: String, _ limit: Int) -> String {
    text.count <= limit ? text : text.prefix(limit - 1) + "…"
  }

  /// A coordinate with one digit behind the point.
  static func place(_ value: Double) -> String { String(format: "%.1f", value) }

  /// A tooltip; also what a screen reader says.
  static func title(_ text: String) -> String { "<title>\(Markup.text(text))</title>" }

  /// `3 h 20 min`, `2 d 4 h`, `15 s`.
  static func span(_ milliseconds: UInt64) -> String {
    let seconds = milliseconds / 1_000
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60)
    if days > 400 { return "\(days / 365) y" }
    if days > 0 { return hours > 0 ? "\(days) d \(hours) h" : "\(days) d" }
    if hours > 0 { return minutes > 0 ? "\(hours) h \(minutes) min" : "\(hours) h" }
    if minutes > 0 { return "\(minutes) min" }
    return seconds > 0 ? "\(seconds) s" : "\(milliseconds) ms"
  }

  /// `1 234 567`.
  static func number(_ number: Int) -> String {
    var digits = String(abs(number))
    var parts: [String] = []
    while digits.count > 3 {
      parts.insert(String(digits.suffix(3)), at: 0)
      digits.removeLast(3)
    }
    return (number < 0 ? "−" : "") + ([digits] + parts).joined(separator: "\u{202f}")
  }
}
