import Foundation

/// The time zone of this machine, or of `TZ`.
enum MachineTimeZone {
  /// Its name; a warning is printed once if `TZ` names none.
  static let name: String = {
    let choice = choose(
      ProcessInfo.processInfo.environment["TZ"], fallback: TimeZone.current.identifier)
    if let warning = choice.warning { Output.note("hearth: warning: \(warning)") }
    return choice.name
  }()

  /// Returns the name that `TZ` means, or the fallback with a warning if it means none.
  ///
  /// `TZ` may begin with a colon, or be the path of a file of the system's time zones (POSIX).
  static func choose(_ variable: String?, fallback: String) -> (name: String, warning: String?) {
    guard let variable, !variable.isEmpty else { return (fallback, nil) }
    var name = variable.hasPrefix(":") ? String(variable.dropFirst()) : variable
    let folder = "/zoneinfo/"
    if name.hasPrefix("/"), let end = name.range(of: folder)?.upperBound {
      name = String(name[end...])
    }
    if let zone = TimeZone(identifier: name) { return (zone.identifier, nil) }
    return (
      fallback,
      "TZ is \(ShownText.quoted(variable)), which is no time zone that this machine knows: "
        + "\(fallback) is used instead; names look like Europe/Berlin"
    )
  }
}
