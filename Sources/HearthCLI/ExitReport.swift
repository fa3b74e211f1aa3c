import ArgumentParser
import Foundation
import Hearth
import Household

/// The documented exit codes; an unknown one means failure.
package enum ExitStatus: Int32, CaseIterable {
  case done = 0
  case failed = 1
  case partial = 2
  case offline = 3
  case notAllowed = 4
  case noNode = 5
  case locked = 6
  case corrupt = 7
  case usage = 64

  /// What the code means, in one line.
  package var meaning: String {
    switch self {
    case .done: "done"
    case .failed: "failed; the message says why, and nothing was changed"
    case .partial: "partly done: something could not be synced, or a file is damaged"
    case .offline: "a transport could not be reached"
    case .notAllowed: "not allowed, or a wrong passphrase"
    case .noNode: "there is no node here: run `hearth init`"
    case .locked: "another process works on this node"
    case .corrupt: "the node's data is damaged"
    case .usage: "the command line is not right"
    }
  }
}

/// A failure that carries its own exit code.
package struct CommandFailure: Error {
  let status: ExitStatus
  let message: String
  let hint: String?

  package init(_ status: ExitStatus, _ message: String, hint: String? = nil) {
    self.status = status
    self.message = message
    self.hint = hint
  }
}

/// Turns whatever ended a command into words on standard error and an exit code.
struct ExitReport {
  private let error: any Error

  init(_ error: any Error) {
    self.error = error
  }

  func finish() -> Never {
    if let failure = error as? CommandFailure {
      say(failure.message, hint: failure.hint)
      exit(failure.status.rawValue)
    }
    // Help, version and usage errors are the argument parser's own.
    let code = HearthCommand.exitCode(for: error)
    if code == .success || code == .validationFailure || error is ExitCode {
      HearthCommand.exit(withError: error)
    }
    say("\(error)", hint: nil)
    exit(ExitReport.status(of: error).rawValue)
  }

  private func say(_ message: String, hint: String?) {
    var text = "hearth: error: \(message)\n"
    if let hint { text += "hint: \(hint)\n" }
    FileHandle.standardError.write(Data(text.utf8))
  }

  /// The exit code for an error of any layer, by its code's word.
  static func status(of error: any Error) -> ExitStatus {
    if error is HouseholdError { return .failed }
    let word = (error as? any CodedError)?.codeWord ?? Hearth.codeWord(of: error)
    switch word {
    case "noNode": return .noNode
    case "locked": return .locked
    case "notAllowed", "passphrase", "wrongPassphrase": return .notAllowed
    case "corrupt", "notAuthentic", "authenticationFailed": return .corrupt
    case .some(let word) where word.hasPrefix("offline"): return .offline
    default: return .failed
    }
  }
}

/// An error of this module that knows its word.
protocol CodedError: Error {
  var codeWord: String { get }
}
