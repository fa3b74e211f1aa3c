import Foundation
import HearthCRDT

/// What is wrong with a call of the benchmark.
struct BenchError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// The parameters of one measurement, as JSON.
struct Parameters {
  private let values: [String: Any]
  let text: String

  init(_ text: String) throws {
    guard let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    else { throw BenchError("the parameters are not a JSON object") }
    values = object
    self.text = text
  }

  func int(_ name: String) throws -> Int {
    guard let number = values[name] as? Int else {
      throw BenchError("the parameters hold no number \"\(name)\"")
    }
    return number
  }

  func int(_ name: String, default number: Int) -> Int {
    values[name] as? Int ?? number
  }

  func string(_ name: String) throws -> String {
    guard let text = values[name] as? String else {
      throw BenchError("the parameters hold no text \"\(name)\"")
    }
    return text
  }
}

/// Reads the operation files of the reference generator, one JSON object a line.
enum OperationFile {
  /// The operations with the number of their replica, 1 where there is only one.
  static func read(_ path: String) throws -> [(replica: Int, action: Action)] {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
      throw BenchError("the operation file \(path) cannot be read")
    }
    return try text.split(separator: "\n").map { line in
      guard
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      else { throw BenchError("a line of \(path) is not a JSON object") }
      return (object["r"] as? Int ?? 1, try action(object, path))
    }
  }

  /// The operations of each replica, in order.
  static func readByReplica(_ path: String, count: Int) throws -> [[Action]] {
    var result = [[Action]](repeating: [], count: count)
    for (replica, action) in try read(path) {
      guard (1...count).contains(replica) else {
        throw BenchError("\(path) names replica \(replica) of \(count)")
      }
      result[replica - 1].append(action)
    }
    return result
  }

  private static func action(_ object: [String: Any], _ path: String) throws -> Action {
    switch object["op"] as? String {
    case "create":
      guard let fields = object["f"] as? [String: Any] else { break }
      return .create(
        id: try id(object),
        values: try Chore.fields.map { try value(fields[$0.name], as: $0.type) })
    case "set":
      guard let name = object["k"] as? String,
        let field = Chore.fields.firstIndex(where: { $0.name == name })
      else { break }
      return .set(
        id: try id(object), field: field,
        value: try value(object["v"], as: Chore.fields[field].type))
    case "award":
      guard let member = object["m"] as? String, let points = object["p"] as? Int,
        let time = object["t"] as? Int, let week = object["w"] as? Int
      else { break }
      return .award(
        Award(
          member: member, points: Int64(points), milliseconds: Int64(time), week: Int64(week)))
    default: break
    }
    throw BenchError("\(path) holds an operation that is not understood: \(object)")
  }

  private static func id(_ object: [String: Any]) throws -> UInt64 {
    guard let text = object["id"] as? String, let id = UInt64(text, radix: 16) else {
      throw BenchError("an operation has no id of sixteen hexadecimal digits")
    }
    return id
  }

  private static func value(_ object: Any?, as type: FieldType) throws -> Value {
    switch (object, type) {
    case (nil, _), (is NSNull, _): return .null
    case (let truth as Bool, .bool): return .bool(truth)
    case (let number as Int, .int): return .int(Int64(number))
    case (let text as String, .text): return .text(text)
    case (let list as [String], .text): return .text(list.joined(separator: ","))
    default: throw BenchError("a value does not fit its field")
    }
  }
}
