import Foundation
import Glibc

/// Questions before an irreversible action.
enum Confirmation {
  /// Asks on a terminal.
  ///
  /// - Throws: a failure if the answer is not yes, and a usage failure if there is no terminal: a
  ///   script says `--yes`, and one that does not know the question must not answer it.
  static func ask(_ question: String, isGiven: Bool) throws {
    guard !isGiven else { return }
    guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
      throw CommandFailure(
        .usage, "this needs an answer, and there is no terminal to ask on: \(question)",
        hint: "add --yes if you mean it; nothing was changed")
    }
    Output.note("\(question) [y/N]")
    let answer = (readLine() ?? "").trimmingCharacters(in: .whitespaces).lowercased()
    guard answer == "y" || answer == "yes" else {
      throw CommandFailure(.failed, "nothing was changed", hint: "answer y, or add --yes")
    }
  }
}
