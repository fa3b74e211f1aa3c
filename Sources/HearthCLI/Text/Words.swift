import HearthSync

/// Time spans and counts in words.
enum Words {
  /// A time span in its largest unit.
  static func span(milliseconds: UInt64) -> String {
    let minutes = milliseconds / 60_000
    switch minutes {
    case 0: return "less than a minute"
    case 1..<120: return count(Int(minutes), "minute")
    case 120..<(48 * 60): return count(Int(minutes / 60), "hour")
    default: return count(Int(clamping: minutes / (24 * 60)), "day")
    }
  }

  /// A count with its noun.
  static func count(_ number: Int, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
  }

  /// The most names that a sentence lists.
  private static let namedCount = 8

  /// The names of people in the order of their first mention, each once, as the subject of a
  /// sentence.
  ///
  /// Somebody may send a crowd of requests under one name.
  static func names(_ names: [String]) -> String {
    let counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
    var seen: Set<String> = []
    let distinct = names.filter { seen.insert($0).inserted }
    let listed = distinct.prefix(namedCount).map { name in
      let count = counts[name] ?? 1
      return count == 1 ? name : "\(name) (\(count) times)"
    }
    let rest = distinct.count - listed.count
    return listed.joined(separator: ", ") + (rest > 0 ? " and \(rest) more" : "")
  }

  /// The reason why a segment is pending.
  static func reason(_ reason: PendingReason) -> String {
    switch reason {
    case .gap: "earlier changes of its author"
    case .cause: "changes of others that its author had seen"
    case .author: "the admission of its author"
    case .epoch: "a key"
    case .quarantine: "a decision: its author contradicted itself"
    case .falseClaim: "changes that its author cites but cannot have seen"
    case .format: "a newer version of this program"
    }
  }
}
