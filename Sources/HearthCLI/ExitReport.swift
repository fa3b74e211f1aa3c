import ArgumentParser
import Foundation
import Hearth
import Household

/// Turns the error of a command into text on standard error and an exit code.
struct ExitReport {
  private let error: any Error
  private let program: any ParsableCommand.Type
  private let isJSON: Bool

  /// - Parameters:
  ///   - program: the whole command line, which words the errors of its arguments.
  ///   - isJSON: whether the command line requested JSON; then the last line of standard error is
  ///     one JSON document.
  init(_ error: any Error, of program: any ParsableCommand.Type, isJSON: Bool) {
    self.error = error
    self.program = program
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
    if program.exitCode(for: error) == .success {
      let text = program.fullMessage(for: error)
      if !text.isEmpty { Output.print(text) }
      if let unwritten { unwritten.finish() }
      exit(ExitStatus.done.rawValue)
    }
    let document = document
    if error is ExitCode, let unwritten { unwritten.finish() }
    if isJSON {
      try? Output.jsonLine(document, to: STDERR_FILENO)
    } else if error is ExitCode {
      program.exit(withError: error)
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
      try StandardStream.requireWritten()
      return nil
    } catch {
      return ExitReport(error, of: program, isJSON: isJSON)
    }
  }

  /// Every line, without the sequences that a terminal would obey.
  private static func safe(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { Style.safe(String($0)) }.joined(separator: "\n")
  }

  /// Whether the argument parser words the error: wrong usage, or a bare exit code.
  private var isOfParser: Bool {
    error is ExitCode || program.exitCode(for: error) == .validationFailure
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
        .usage, program.message(for: error), hint: usage)
    }
    if let error = error as? HouseholdError {
      return document(ExitStatus.of(error), error.message, reason: error.code.rawValue)
    }
    let word = Hearth.codeWord(of: error)
    return document(ExitStatus.of(error), Hearth.words(of: error), reason: word)
  }

  /// The usage text of a command, if the argument parser has one.
  private var usage: String {
    let lines = program.fullMessage(for: error).split(separator: "\n").map(String.init)
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
}
