/// What must never be checked in: build products and the lock file of a library.
enum TrackedFileRule {
  static func violations(tracked: [String]) -> [Violation] {
    tracked.compactMap { path in
      let parts = path.split(separator: "/")
      if parts.last == "Package.resolved" {
        return Violation(
          path: path, line: 1, message: "a library does not pin for others: git rm --cached it")
      }
      if parts.contains(where: { $0.hasPrefix(".build") || $0 == ".swiftpm" }) {
        return Violation(path: path, line: 1, message: "a build product: git rm --cached it")
      }
      return nil
    }
  }
}
