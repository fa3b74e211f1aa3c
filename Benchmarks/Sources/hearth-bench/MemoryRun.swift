import Foundation
import HearthCRDT
import HearthStore

/// W6: memory while building and after opening, each in a process of its own.
enum MemoryRun {
  /// The names by which the program calls itself.
  static let buildCommand = "w6-build"
  static let openCommand = "w6-open"

  /// Builds in one child, opens in a second; the keys of both.
  static func measure(count: Int, edits: Int, root: String) throws -> [String: Any] {
    let parameters: [String: Any] = ["dir": root, "n": count, "m": edits]
    var result = try child(buildCommand, parameters)
    result.merge(try child(openCommand, parameters)) { $1 }
    result["seconds"] = result["build_s"]
    result["bytes"] = result["build_peak_rss"]
    return result
  }

  private static func child(
    _ command: String, _ parameters: [String: Any]
  ) throws -> [String: Any] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let json = try JSONSerialization.data(withJSONObject: parameters)
    process.arguments = [command, String(decoding: json, as: UTF8.self)]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let text = String(decoding: output, as: UTF8.self)
    guard let line = text.split(separator: "\n").last(where: { $0.hasPrefix("RESULT ") }),
      let object = try JSONSerialization.jsonObject(with: Data(line.dropFirst(7).utf8))
        as? [String: Any]
    else { throw BenchError("\(command) gave no result: \(text)") }
    return object
  }

  /// In the first child: writes everything, operation by operation from the generator.
  static func build(_ parameters: Parameters) throws -> [String: Any] {
    let replica = try Replica.family(1, in: try parameters.string("dir"))[0]
    let before = ResourceUse.residentBytes()
    var clock = Stopwatch()
    try clock.measure {
      try Generator.base(try parameters.int("n"), try parameters.int("m"), group: 100) {
        try replica.write($0)
      }
    }
    let result: [String: Any] = [
      "build_s": clock.wall, "build_peak_rss": ResourceUse.peakBytes() - before,
      "build_end_rss": ResourceUse.residentBytes() - before,
    ]
    try replica.store.close()
    return result
  }

  /// In the second child: opens what is there and edits one field.
  static func open(_ parameters: Parameters) throws -> [String: Any] {
    let edit = Generator.edits(among: try parameters.int("n"), 1, seed: 99)
    let identity = try Replica.identity(1)
    let folder = try parameters.string("dir") + "/r1"
    let before = ResourceUse.residentBytes()
    var opening = Stopwatch()
    var editing = Stopwatch()
    let replica = try opening.measure { try Replica(folder, identity: identity) }
    try editing.measure { try replica.write(edit) }
    return [
      "open_s": opening.wall, "open_cpu_s": opening.processor, "first_edit_s": editing.wall,
      "open_rss": ResourceUse.residentBytes() - before,
    ]
  }
}
