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
    case .locked: "another process uses this node"
    case .corrupt: "the node's data is damaged"
    case .usage: "the command line is wrong"
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

extension ExitStatus {
  /// The codes for values that are invalid in every household.
  private static let badInput: Set<HouseholdError.Code> = [
    .civilOutOfRange, .civilText, .ruleOutOfRange, .ruleContradiction, .badTitle, .badNote,
    .badName, .badEmail, .badPoints, .badTags, .badAssignment, .badDay, .badReason, .badSetting,
    .badCursor, .badRating,
  ]

  /// The codes for what somebody with more rights may do.
  private static let reserved: Set<HouseholdError.Code> = [.notYours, .periodClosed]

  /// The exit code for an error of any layer, by its code's word.
  static func of(_ error: any Error) -> ExitStatus {
    if let error = error as? HouseholdError {
      if reserved.contains(error.code) { return .notAllowed }
      return badInput.contains(error.code) ? .usage : .failed
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
