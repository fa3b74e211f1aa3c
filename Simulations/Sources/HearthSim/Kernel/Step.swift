import Foundation

/// One thing that is to happen: at a virtual time, on a device or in the world, a verb with words.
///
/// Its text form, one line of a plan: `1d 08:30:00.250 B: complete Dishes`; without a device the
/// world is meant: `0d 12:00 world: cut A>B`. Words with blanks stand in double quotes.
struct Step: Codable, Sendable, Equatable {
  /// Milliseconds since the start of the run.
  var atMilliseconds: UInt64
  /// The device's name; `world` for none.
  var device: String
  var verb: String
  var words: [String]

  init(at: UInt64, _ device: String, _ verb: String, _ words: [String] = []) {
    atMilliseconds = at
    self.device = device
    self.verb = verb
    self.words = words
  }

  /// What is wrong with a line.
  struct Malformed: Error, CustomStringConvertible {
    let line: String
    var description: String {
      "\"\(line)\" is not a step: write `1d 08:30:00.250 B: complete Dishes`"
    }
  }

  init(_ line: String) throws {
    guard let colon = line.range(of: ": ") else { throw Malformed(line: line) }
    let head = line[..<colon.lowerBound].split(separator: " ")
    guard head.count == 3, head[0].hasSuffix("d"), let day = UInt64(head[0].dropLast()),
      let time = Step.milliseconds(head[1])
    else { throw Malformed(line: line) }
    let words = Step.split(String(line[colon.upperBound...]))
    guard let verb = words.first else { throw Malformed(line: line) }
    self.init(at: day * 86_400_000 + time, String(head[2]), verb, Array(words.dropFirst()))
  }

  init(from decoder: any Decoder) throws {
    try self.init(decoder.singleValueContainer().decode(String.self))
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(line)
  }

  /// The text form.
  var line: String {
    let day = atMilliseconds / 86_400_000
    let rest = Int(atMilliseconds % 86_400_000)
    let time = String(
      format: "%02d:%02d:%02d.%03d", rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60,
      rest % 1_000)
    let tail = ([verb] + words).map { $0.contains(" ") || $0.isEmpty ? "\"\($0)\"" : $0 }
    return "\(day)d \(time) \(device): \(tail.joined(separator: " "))"
  }

  private static func milliseconds(_ text: Substring) -> UInt64? {
    let parts = text.split(separator: ":")
    guard (2...3).contains(parts.count), let hours = UInt64(parts[0]), hours < 24,
      let minutes = UInt64(parts[1]), minutes < 60
    else { return nil }
    var milliseconds = (hours * 60 + minutes) * 60_000
    if parts.count == 3 {
      let seconds = parts[2].split(separator: ".")
      guard let whole = UInt64(seconds[0]), whole < 60 else { return nil }
      milliseconds += whole * 1_000
      if seconds.count == 2, seconds[1].count == 3, let part = UInt64(seconds[1]) {
        milliseconds += part
      }
    }
    return milliseconds
  }

  private static func split(_ text: String) -> [String] {
    var words: [String] = []
    var word = ""
    var isQuoted = false
    var hasWord = false
    for character in text {
      if character == "\"" {
        isQuoted.toggle()
        hasWord = true
      } else if character == " ", !isQuoted {
        if hasWord { words.append(word) }
        word = ""
        hasWord = false
      } else {
        word.append(character)
        hasWord = true
      }
    }
    if hasWord { words.append(word) }
    return words
  }

  /// The value of a word `key=value`; nil if there is none.
  func value(_ key: String) -> String? {
    words.first { $0.hasPrefix(key + "=") }.map { String($0.dropFirst(key.count + 1)) }
  }

  /// The steps that a line with the words `every=1d times=30` stands for; else this one alone.
  ///
  /// A span is a number and one of `d`, `h`, `m`, `s`.
  func repeated() throws -> [Step] {
    guard let every = value("every"), let times = value("times").flatMap({ Int($0) }) else {
      return [self]
    }
    let units: [Character: UInt64] = ["d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000]
    guard let unit = every.last.flatMap({ units[$0] }), let number = UInt64(every.dropLast()),
      number <= Step.maximumRepeats, (1...Int(Step.maximumRepeats)).contains(times)
    else { throw Malformed(line: line) }
    let rest = words.filter { !$0.hasPrefix("every=") && !$0.hasPrefix("times=") }
    return (0..<UInt64(times)).map {
      Step(at: atMilliseconds + $0 * number * unit, device, verb, rest)
    }
  }

  private static let maximumRepeats: UInt64 = 10_000
}
