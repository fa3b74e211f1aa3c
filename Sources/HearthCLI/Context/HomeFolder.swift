/// The node's folder, as the command line and the environment choose it.
enum HomeFolder {
  /// Returns the folder: `--home`, else `HEARTH_HOME`, else `hearth` in `XDG_DATA_HOME`, else
  /// `.local/share/hearth` in `HOME`.
  ///
  /// The user's entry in the system's list of users is not consulted: a program that is started
  /// with another `HOME` means that home. `XDG_DATA_HOME` and `HOME` count only as absolute paths,
  /// as the XDG convention says.
  ///
  /// - Throws: a usage failure if nothing names a folder.
  static func path(option: String?, environment: [String: String]) throws -> String {
    if let option {
      guard !option.isEmpty else {
        throw CommandFailure(.usage, "--home names no folder", hint: "write its path after --home")
      }
      return option
    }
    if let home = environment["HEARTH_HOME"], !home.isEmpty { return home }
    func absolute(_ variable: String) -> String? {
      environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
    if let data = absolute("XDG_DATA_HOME") { return data + "/hearth" }
    if let home = absolute("HOME") { return home + "/.local/share/hearth" }
    throw CommandFailure(
      .usage,
      "the node's folder is unknown: HEARTH_HOME is not set, and neither XDG_DATA_HOME nor HOME is "
        + "an absolute path",
      hint: "name the folder with --home DIR, or set HEARTH_HOME")
  }
}
