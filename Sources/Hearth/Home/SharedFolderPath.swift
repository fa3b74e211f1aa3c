import Foundation
import Glibc

/// The path of a folder that others will read, which must not contain a node's own files.
///
/// The program that syncs a shared folder to other devices copies everything in it. If the folder
/// contained a node's home, or lay in one, that would include the private key.
enum SharedFolderPath {
  /// Returns the absolute path of a given folder.
  ///
  /// - Parameters:
  ///   - text: the folder as typed, or from a link.
  ///   - home: the home of the node that will use it.
  /// - Throws: `invalid` for an empty text, and for a folder that contains a node or lies in this
  ///   one.
  static func checked(_ text: String, home: String) throws -> String {
    let path = try named(text)
    let real = resolved(path)
    let realHome = resolved(URL(fileURLWithPath: home).standardizedFileURL.path)
    let words: String
    if isSame(real, realHome) {
      words = "is this node's own home"
    } else if lies(realHome, in: real) {
      words = "contains this node's home (\(printable(home)))"
    } else if lies(real, in: realHome) {
      words = "is in this node's home (\(printable(home)))"
    } else if isHome(real) {
      words = "is the home of a node"
    } else if let home = homeBelow(real) {
      words = "contains the home of a node (\(printable(home)))"
    } else {
      return path
    }
    throw HearthError(
      .invalid,
      "\(printable(path)) \(words): everybody who gets the shared folder would get the private "
        + "key; name a folder for Hearth alone")
  }

  private static func isHome(_ path: String) -> Bool {
    (try? NodeFolder(path).holdsNode()) ?? false
      && FileManager.default.fileExists(atPath: NodeFolder(path).database)
  }

  /// Returns the home of a node directly in a folder; the first by name, nil if there is none.
  private static func homeBelow(_ path: String) -> String? {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
    return names.sorted().map { path + "/" + $0 }.first(where: isHome)
  }

  /// Returns the absolute path of a folder that is only looked up.
  ///
  /// - Throws: `invalid` for an empty name, which would mean the working directory.
  static func named(_ text: String) throws -> String {
    guard !text.isEmpty else {
      throw HearthError(.invalid, "the folder's name is empty: write its path (`.` for this one)")
    }
    return URL(fileURLWithPath: text).standardizedFileURL.path
  }

  /// Returns a path without symbolic links, as far as it exists.
  private static func resolved(_ path: String) -> String {
    var present = path
    var missing: [String] = []
    while true {
      if let real = realpath(present, nil) {
        defer { free(real) }
        let base = String(cString: real)
        guard !missing.isEmpty else { return base }
        return (base == "/" ? "" : base) + "/" + missing.reversed().joined(separator: "/")
      }
      let url = URL(fileURLWithPath: present)
      let parent = url.deletingLastPathComponent().path
      guard parent != present, !present.isEmpty else { return path }
      missing.append(url.lastPathComponent)
      present = parent
    }
  }

  /// Whether a folder lies below another, even if that is mounted at a second place.
  private static func lies(_ inner: String, in outer: String) -> Bool {
    var place = inner
    while place != "/", !place.isEmpty {
      place = URL(fileURLWithPath: place).deletingLastPathComponent().path
      if isSame(place, outer) { return true }
    }
    return false
  }

  /// Whether two paths are the same folder, by name or by its identity in the file system.
  private static func isSame(_ left: String, _ right: String) -> Bool {
    if left == right { return true }
    var (one, other) = (stat(), stat())
    guard stat(left, &one) == 0, stat(right, &other) == 0 else { return false }
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino
  }
}
