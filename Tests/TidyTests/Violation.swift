/// One broken rule: where, what, and what to do instead.
struct Violation: Equatable, CustomStringConvertible {
  var path: String
  var line: Int
  var message: String

  var description: String { "\(path):\(line): \(message)" }
}
