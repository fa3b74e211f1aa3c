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

  /// The stable word that JSON documents use for the code.
  package var word: String {
    switch self {
    case .done: "done"
    case .failed: "failed"
    case .partial: "partial"
    case .offline: "offline"
    case .notAllowed: "notAllowed"
    case .noNode: "noNode"
    case .locked: "locked"
    case .corrupt: "corrupt"
    case .usage: "usage"
    }
  }

  /// The meaning of the code, in one line.
  package var meaning: String {
    switch self {
    case .done: "done"
    case .failed: "failed; the message says why"
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

/// A failure with its own exit code.
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

/// Turns the error of a command into text on standard error and an exit code.
struct ExitReport {
  private let error: any Error
  private let isJSON: Bool

  /// - Parameter isJSON: whether the command line requested JSON; then the last line of standard
  ///   error is one JSON document.
  init(_ error: any Error, isJSON: Bool) {
    self.error = error
    self.isJSON = isJSON
  }

  /// An error in the form of `--json`.
  struct Document: Encodable {
    struct Content: Encodable {
      /// The word of the exit code.
      let code: String
      /// The module's own, more specific word, if it has one.
      let reason: String?
      let message: String
      let hint: String?
      let exit: Int32
    }
    let schema = 1
    let error: Content
  }

  /// Reports the error and ends the process.
  func finish() -> Never {
    // Help and the version are no failures; the argument parser words them.
    if HearthCommand.exitCode(for: error) == .success {
      let text = HearthCommand.fullMessage(for: error)
      if !text.isEmpty { Output.print(text) }
      if let unwritten { unwritten.finish() }
      exit(ExitStatus.done.rawValue)
    }
    let document = document
    if error is ExitCode, let unwritten { unwritten.finish() }
    if isJSON {
      try? Output.jsonLine(document, to: STDERR_FILENO)
    } else if error is ExitCode {
      HearthCommand.exit(withError: error)
    } else {
      // A message may quote text of others.
      var text = "hearth: error: \(ExitReport.safe(document.error.message))"
      if let hint = document.error.hint { text += "\nhint: \(ExitReport.safe(hint))" }
      Output.note(text)
    }
    exit(document.error.exit)
  }

  /// The report of output that could not be printed; nil if all was.
  private var unwritten: ExitReport? {
    do {
      try Output.requireWritten()
      return nil
    } catch {
      return ExitReport(error, isJSON: isJSON)
    }
  }

  /// Every line, without the sequences that a terminal would obey.
  private static func safe(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { Style.safe(String($0)) }.joined(separator: "\n")
  }

  /// Whether the argument parser words the error: wrong usage, or a bare exit code.
  private var isOfParser: Bool {
    error is ExitCode || HearthCommand.exitCode(for: error) == .validationFailure
  }

  /// The error as a document.
  var document: Document {
    if let failure = error as? CommandFailure {
      return document(failure.status, failure.message, hint: failure.hint)
    }
    if let code = error as? ExitCode {
      let status = ExitStatus(rawValue: code.rawValue) ?? .failed
      return document(status, status.meaning)
    }
    if isOfParser {
      return document(
        .usage, HearthCommand.message(for: error), hint: ExitReport.usage(of: error))
    }
    if let error = error as? HouseholdError {
      return document(ExitReport.status(of: error), error.message, reason: error.code.rawValue)
    }
    let word = Hearth.codeWord(of: error)
    return document(ExitReport.status(of: error), Hearth.words(of: error), reason: word)
  }

  /// The usage text of a command, if the argument parser has one.
  private static func usage(of error: any Error) -> String {
    let lines = HearthCommand.fullMessage(for: error).split(separator: "\n").map(String.init)
    let usage = lines.first { $0.hasPrefix("Usage: ") }
    return usage.map { "usage: \($0.dropFirst("Usage: ".count)); " } ?? ""
      + "`hearth help COMMAND` explains a command"
  }

  private func document(
    _ status: ExitStatus, _ message: String, hint: String? = nil, reason: String? = nil
  ) -> Document {
    Document(
      error: Document.Content(
        code: status.word, reason: reason == status.word ? nil : reason, message: message,
        hint: hint, exit: status.rawValue))
  }

  /// The codes for values that are invalid in every household.
  private static let badInput: Set<HouseholdError.Code> = [
    .civilOutOfRange, .civilText, .ruleOutOfRange, .ruleContradiction, .badTitle, .badNote,
    .badName, .badEmail, .badPoints, .badTags, .badAssignment, .badDay, .badReason, .badSetting,
    .badCursor, .badRating,
  ]

  /// The exit code for an error of any layer, by its code's word.
  static func status(of error: any Error) -> ExitStatus {
    if let error = error as? HouseholdError {
      return ExitReport.badInput.contains(error.code) ? .usage : .failed
    }
    switch Hearth.codeWord(of: error) {
    case "noNode": return .noNode
    case HearthError.Code.invalid.rawValue where error is HearthError: return .usage
    case "locked": return .locked
    case "notAllowed", "passphrase", "wrongPassphrase": return .notAllowed
    case "corrupt", "notAuthentic", "authenticationFailed": return .corrupt
    case .some(let word) where word.hasPrefix("offline"): return .offline
    default: return .failed
    }
  }
}
