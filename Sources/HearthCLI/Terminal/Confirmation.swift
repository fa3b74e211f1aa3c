import Foundation
import Glibc

/// Questions before an irreversible action.
enum Confirmation {
  /// Asks on a terminal; without one, the command line is the decision.
  ///
  /// - Throws: a failure if the answer is not yes.
  static func ask(_ question: String, isGiven: Bool) throws {
    guard !isGiven, isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else { return }
    Output.note("\(question) [y/N]")
    let answer = (readLine() ?? "").trimmingCharacters(in: .whitespaces).lowercased()
    guard answer == "y" || answer == "yes" else {
      throw CommandFailure(.failed, "nothing was changed", hint: "answer y, or add --yes")
    }
  }
}
