import Foundation
import HearthRelayCore

/// Hides the password of a URL in the list of arguments that other users of the machine see.
package enum ArgumentVeil {
  /// Overwrites the possible password of every `postgres://` argument.
  ///
  /// It does so in the memory that the system shows as this process's command line. Between the
  /// start of the process and this call the password is readable. Password files and service files
  /// have no such moment.
  package static func draw() {
    guard let line = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
      let name = line.lastIndex(of: ")")
    else { return }
    // The fields from the third on follow the name; the 48th and 49th bound the arguments.
    let fields = line[line.index(after: name)...].split(separator: " ")
    guard fields.count > 46, let start = UInt(fields[45]), let end = UInt(fields[46]),
      start > 0, end > start, end - start < 1 << 22,
      let base = UnsafeMutablePointer<UInt8>(bitPattern: start)
    else { return }
    let bytes = UnsafeMutableBufferPointer(start: base, count: Int(end - start))
    for range in hiddenRanges(in: Array(bytes)) {
      for place in range { bytes[place] = UInt8(ascii: "*") }
    }
  }

  /// Returns which bytes of a command line may belong to a password.
  ///
  /// These lie between the user's colon and the last at sign of a URL's authority, and after its
  /// question mark.
  static func hiddenRanges(in line: [UInt8]) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var place = 0
    for argument in line.split(separator: 0, omittingEmptySubsequences: false) {
      defer { place += argument.count + 1 }
      let text = Array(argument)
      guard let scheme = text.firstRange(of: Array("://".utf8)),
        text[..<scheme.lowerBound].reversed().starts(with: "sergtsop".utf8)
          || text[..<scheme.lowerBound].reversed().starts(with: "lqsergtsop".utf8)
      else { continue }
      let rest = scheme.upperBound..<text.count
      let query = text[rest].firstIndex(of: UInt8(ascii: "?"))
      // A password may incorrectly contain a slash, so everything before the last at sign counts.
      let authority = rest.lowerBound..<(query ?? text.count)
      if let at = text[authority].lastIndex(of: UInt8(ascii: "@")),
        let colon = text[authority.lowerBound..<at].firstIndex(of: UInt8(ascii: ":"))
      {
        found.append(place + colon + 1..<place + at)
      }
      if let query { found.append(place + query + 1..<place + text.count) }
    }
    return found
  }
}
