/// Which folder and which file needs which, and how large types become over all their extensions.
///
/// A file or folder needs another where it names a type that only the other one defines.
/// Calls of methods are not seen, so a type that is extended in many folders hides what they need:
/// that is why the size of types is bounded too.
enum StructureRule {
  static let maximumFunctionsPerType = 39

  /// Types that are larger, with how many functions they may have at most: no number may grow.
  static let largeTypes: [String: Int] = [:]

  /// Types that files of another module extend, with how many files at most: no number may grow.
  static let foreignExtensions: [String: Int] = [
    "AuditEntry": 1, "ChallengeOffer": 1, "Change": 1, "ControlOperation": 1, "Frontier": 2,
    "Identifier": 1, "Membership": 4, "Operation": 1, "ProjectionSource": 1, "PublicValue": 1,
    "RecordState": 2, "Role": 1, "StoredRecord": 1, "Value": 3, "WaitingJoin": 1, "Weekday": 1,
  ]

  /// What one file defines, extends and names.
  struct Outline {
    let path: String
    /// The types that it defines at its top, with the functions in each.
    var definitions: [String: Int] = [:]
    /// The types that it extends, with the functions in those extensions.
    var extensions: [String: Int] = [:]
    var names: Set<String> = []

    var folder: String {
      path.split(separator: "/").dropFirst(2).dropLast().joined(separator: "/")
    }

    /// The path inside the module.
    var place: String { path.split(separator: "/").dropFirst(2).joined(separator: "/") }

    var module: String { String(path.split(separator: "/")[1]) }

    init(_ file: SourceText) {
      path = file.path
      var current: (name: String, isExtension: Bool)?
      for line in file.codeLines {
        names.formUnion(Outline.typeNames(in: line))
        if let found = Outline.opening(of: line) {
          current = found
          if found.isExtension {
            extensions[found.name, default: 0] += 0
          } else {
            definitions[found.name, default: 0] += 0
          }
        }
        guard let current, Outline.isFunction(line) else { continue }
        if current.isExtension {
          extensions[current.name, default: 0] += 1
        } else {
          definitions[current.name, default: 0] += 1
        }
      }
    }

    private static func typeNames(in line: Substring) -> Set<String> {
      let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_") }
      return Set(words.filter { $0.first?.isUppercase ?? false }.map(String.init))
    }

    /// The type that a line at the left edge begins to define or extend.
    private static func opening(of line: Substring) -> (name: String, isExtension: Bool)? {
      guard let first = line.first, !first.isWhitespace else { return nil }
      let words = line.split { " :<{(,".contains($0) }.map(String.init)
      let kinds = ["struct", "class", "enum", "actor", "protocol", "typealias", "extension"]
      guard let place = words.firstIndex(where: kinds.contains), place + 1 < words.count,
        words[..<place].allSatisfy({ modifiers.contains($0) || $0.hasPrefix("@") })
      else { return nil }
      return (words[place + 1], words[place] == "extension")
    }

    private static let modifiers: Set<String> = [
      "public", "package", "internal", "private", "fileprivate", "final", "indirect",
      "nonisolated",
    ]

    private static func isFunction(_ line: Substring) -> Bool {
      guard line.hasPrefix("  ") else { return false }
      let words = line.split(separator: " ")
      return words.contains("func")
        || words.contains {
          $0.hasPrefix("init(") || $0.hasPrefix("init?(") || $0.hasPrefix("init<")
        }
          && !words.contains { $0.hasPrefix("self.") || $0.hasPrefix("super.") || $0 == "=" }
    }
  }

  /// Folders and files of one module that need each other; one violation for each module and level.
  static func circleViolations(in outlines: [Outline]) -> [Violation] {
    Dictionary(grouping: outlines, by: \.module).sorted { $0.key < $1.key }
      .flatMap { module, files -> [Violation] in
        [
          ("folders", circle(in: files, by: \.folder)), ("files", circle(in: files, by: \.place)),
        ].compactMap { level, circle in
          guard !circle.isEmpty else { return nil }
          return Violation(
            path: "Sources/\(module)", line: 1,
            message: "\(level) need each other: \(circle.joined(separator: ", ")); move what both "
              + "need below them")
        }
      }
  }

  /// The parts of a module that can be reached from themselves; empty where arrows run one way.
  ///
  /// - Parameter part: the part that a file belongs to: its folder, or the file alone.
  private static func circle(in files: [Outline], by part: (Outline) -> String) -> [String] {
    let homes = homes(in: files)
    var arrows: [String: Set<String>] = [:]
    for file in files {
      let needed = file.names.compactMap { homes[$0] }.map(part)
      arrows[part(file), default: []].formUnion(needed.filter { $0 != part(file) })
    }
    return arrows.keys.filter { start in
      var reached: Set<String> = []
      var due = Array(arrows[start] ?? [])
      while let next = due.popLast() {
        if reached.insert(next).inserted { due += arrows[next] ?? [] }
      }
      return reached.contains(start)
    }.map { $0.isEmpty ? "the module's own folder" : $0 }.sorted()
  }

  /// Where each type is defined that one file alone defines.
  private static func homes(in files: [Outline]) -> [String: Outline] {
    let all = files.flatMap { file in file.definitions.keys.map { ($0, file) } }
    return Dictionary(grouping: all, by: \.0).filter { $0.value.count == 1 }
      .compactMapValues { $0.first?.1 }
  }

  /// Types with more functions than one may have, over all its extensions.
  static func sizeViolations(in outlines: [Outline]) -> [Violation] {
    var counts: [String: Int] = [:]
    for file in outlines {
      counts.merge(file.definitions) { $0 + $1 }
      counts.merge(file.extensions) { $0 + $1 }
    }
    let homes = homes(in: outlines)
    return counts.sorted { $0.key < $1.key }.compactMap { name, count in
      guard let home = homes[name] else { return nil }
      let limit = largeTypes[name] ?? maximumFunctionsPerType
      guard count > limit else { return nil }
      return Violation(
        path: home.path, line: 1,
        message: "\(name) has \(count) functions over all its extensions; at most \(limit): let "
          + "its parts be types of their own")
    }
  }

  /// Types that another module than their own extends: there they hide what a module is made of.
  static func foreignViolations(in outlines: [Outline]) -> [Violation] {
    let homes = homes(in: outlines)
    var foreign: [String: [Outline]] = [:]
    for file in outlines {
      for name in Set(file.extensions.keys.compactMap { $0.split(separator: ".").first }) {
        guard let home = homes[String(name)], home.module != file.module else { continue }
        foreign[String(name), default: []].append(file)
      }
    }
    return foreign.sorted { $0.key < $1.key }.compactMap { name, files in
      let limit = foreignExtensions[name] ?? 0
      guard files.count > limit, let last = files.map(\.path).max() else { return nil }
      return Violation(
        path: last, line: 1,
        message: "\(name) of another module is extended in \(files.count) files; at most "
          + "\(limit): write a function or type of this module instead")
    }
  }
}
