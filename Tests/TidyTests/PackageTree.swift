import Foundation

/// The files of this package, found from the place of this source file.
enum PackageTree {
  /// The package root: this file is `Tests/TidyTests/PackageTree.swift` below it.
  static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  /// Folders that may hold Swift sources.
  static let sourceFolders = ["Sources", "Tests", "Simulations", "Benchmarks", "Examples"]

  /// Paths of all files below a folder, relative to the root and sorted; hidden ones left out.
  ///
  /// - Parameter folder: Relative to the root; "" is the root. A missing folder has no files.
  static func files(below folder: String = "") -> [String] {
    let base = folder.isEmpty ? root : root.appending(path: folder)
    guard
      let found = FileManager.default.enumerator(
        at: base, includingPropertiesForKeys: [.isRegularFileKey], options: [.skipsHiddenFiles])
    else { return [] }
    let prefix = root.path(percentEncoded: false)
    return found.compactMap { item -> String? in
      guard let file = item as? URL,
        (try? file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true
      else { return nil }
      let path = file.path(percentEncoded: false)
      return path.hasPrefix(prefix) ? String(path.dropFirst(prefix.count)) : nil
    }.sorted()
  }

  /// The text of a file, relative to the root.
  static func text(of path: String) throws -> String {
    let bytes = try Data(contentsOf: root.appending(path: path))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// All Swift files below the given folders, with comments and strings told from code.
  static func swiftFiles(below folders: [String] = sourceFolders) throws -> [SourceText] {
    try folders.flatMap { files(below: $0) }.filter { $0.hasSuffix(".swift") }
      .map { SourceText(path: $0, text: try text(of: $0)) }
  }

  /// What git tracks, or nil when the package is not a git checkout (a release archive).
  static func trackedFiles() throws -> [String]? {
    guard FileManager.default.fileExists(atPath: root.appending(path: ".git").path) else {
      return nil
    }
    let git = Process()
    git.executableURL = URL(filePath: "/usr/bin/env")
    // The folder may belong to another user where a checkout is mounted into a container.
    git.arguments = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    git.currentDirectoryURL = root
    let output = Pipe()
    git.standardOutput = output
    try git.run()
    let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
    git.waitUntilExit()
    guard git.terminationStatus == 0 else {
      throw TidyError(message: "git ls-files ended with status \(git.terminationStatus)")
    }
    return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Says why the tree cannot be read.
struct TidyError: Error, CustomStringConvertible {
  var message: String

  var description: String { message }
}
