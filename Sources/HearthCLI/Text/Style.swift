import ArgumentParser
import Foundation
import Glibc
import Synchronization

/// The condition for coloured output.
enum ColorChoice: String, CaseIterable, ExpressibleByArgument, Sendable {
  /// On a terminal.
  case auto
  case always
  case never
}

/// Emphasis on a terminal; plain text elsewhere and on request.
enum Style {
  private static let decided = Mutex<Bool?>(nil)

  /// Whether standard output shows emphasis.
  static var isOn: Bool {
    decided.withLock { decided in
      if let decided { return decided }
      let isOn = decide(
        flag: nil, setting: .auto, environment: ProcessInfo.processInfo.environment,
        isTerminal: isatty(STDOUT_FILENO) == 1)
      decided = isOn
      return isOn
    }
  }

  /// Sets the preference of the command line and of the settings for the rest of the process.
  static func choose(flag: ColorChoice?, setting: ColorChoice) {
    let isOn = decide(
      flag: flag, setting: setting, environment: ProcessInfo.processInfo.environment,
      isTerminal: isatty(STDOUT_FILENO) == 1)
    decided.withLock { $0 = isOn }
  }

  /// Whether to colour: the flag decides before the setting, both before the environment.
  ///
  /// `NO_COLOR` is a default that a choice for this program overrides (no-color.org), and wins over
  /// `CLICOLOR_FORCE`.
  static func decide(
    flag: ColorChoice?, setting: ColorChoice, environment: [String: String], isTerminal: Bool
  ) -> Bool {
    switch flag ?? setting {
    case .always: return true
    case .never: return false
    case .auto: break
    }
    guard (environment["NO_COLOR"] ?? "").isEmpty else { return false }
    if let force = environment["CLICOLOR_FORCE"], !force.isEmpty, force != "0" { return true }
    return isTerminal && environment["TERM"] != "dumb"
  }

  static func bold(_ text: String) -> String { wrap(text, "1") }
  static func dim(_ text: String) -> String { wrap(text, "2") }
  static func red(_ text: String) -> String { wrap(text, "31") }
  static func green(_ text: String) -> String { wrap(text, "32") }
  static func yellow(_ text: String) -> String { wrap(text, "33") }

  /// Text of others with every hidden character made visible.
  static func safe(_ text: String) -> String { VisibleText.shown(text) }

  private static func wrap(_ text: String, _ code: String) -> String {
    isOn ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
