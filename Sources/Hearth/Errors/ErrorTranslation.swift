import Foundation
import HearthCRDT
import HearthCrypto
import HearthStore
import HearthSync

extension HearthError {
  /// Turns an error of any layer into the public one.
  init(translating error: any Error) {
    switch error {
    case let error as HearthError:
      self.init(error.code, ProgramWords.text(error.message, error.code), cause: error.cause)
    case let error as StoreError:
      self.init(ErrorCodes.code(error.code), error.message, translated: error)
    case let error as SyncError:
      self.init(ErrorCodes.code(error.code), error.message, translated: error)
    case let error as CryptoError:
      self.init(
        error.code == .wrongPassphrase ? .passphrase : .untrusted, error.message,
        translated: error)
    case let error as TransportError:
      self.init(.offline, "\(error)", translated: error)
    case let error as CodecError:
      self.init(.corrupt, "\(error)", translated: error)
    case is CancellationError:
      self.init(.cancelled, "the task was cancelled", translated: error)
    default:
      self.init(.io, "\(error)", translated: error)
    }
  }

  private init(_ code: Code, _ message: String, translated error: any Error) {
    self.init(code, ProgramWords.text(message, code), cause: error)
  }
}

/// The public codes of the errors of other modules.
private enum ErrorCodes {
  static func code(_ code: StoreError.Code) -> HearthError.Code {
    switch code {
    case .notFound: .noNode
    case .locked: .locked
    case .full: .full
    case .corrupt: .corrupt
    case .newerFormat: .newerFormat
    case .earlierFormat: .earlierFormat
    case .schema: .schema
    case .tooLarge: .tooLarge
    case .otherApplication: .otherApplication
    case .refused: .invalid
    default: .io
    }
  }

  static func code(_ code: SyncError.Code) -> HearthError.Code {
    switch code {
    case .notFound: .notFound
    case .tooLarge: .tooLarge
    case .invalidOperation, .malformed: .invalid
    case .notAllowed: .notAllowed
    case .otherApplication: .otherApplication
    case .expired: .expired
    case .used: .used
    case .exists: .exists
    case .corrupt: .corrupt
    default: .untrusted
    }
  }
}

/// Messages for programs: without the commands of the program `hearth`, which applications lack.
enum ProgramWords {
  /// Returns a message without remedies that name commands or options.
  static func text(_ message: String, _ code: HearthError.Code) -> String {
    fault(of: message) ?? general(code)
  }

  /// Returns a message without remedies that name commands or options; nil if nothing is left.
  static func fault(of message: String) -> String? {
    guard namesCommand(message) else { return message }
    // The fault comes first, and what to do after it.
    var parts = message.components(separatedBy: ": ")
    while parts.count > 1, namesCommand(parts.joined(separator: ": ")) { parts.removeLast() }
    let fault = parts.joined(separator: ": ")
    return namesCommand(fault) ? nil : fault
  }

  /// Whether a text names a command such as `hearth join`, or an option such as --home.
  static func namesCommand(_ text: String) -> Bool {
    text.contains("`hearth") || text.contains("`init`") || text.contains(" --")
      || text.contains("(--")
  }

  private static func general(_ code: HearthError.Code) -> String {
    switch code {
    case .noNode: "there is no node in the folder"
    case .exists: "it exists already"
    case .locked: "another process uses the node"
    case .notAllowed: "this person or device may not do that"
    case .notFound: "the requested item does not exist"
    case .offline: "no transport could be reached, or none carries the zone"
    case .corrupt: "the node's data is damaged"
    case .invalid: "the input is invalid"
    default: "the call failed (\(code.rawValue))"
    }
  }
}

/// Runs the body of a public call, which throws only the public error.
func reported<Result>(
  _ body: () async throws -> Result
) async throws(HearthError) -> Result {
  do {
    return try await body()
  } catch {
    throw HearthError(translating: error)
  }
}

/// Runs the body of a public call, which throws only the public error.
func reported<Result>(_ body: () throws -> Result) throws(HearthError) -> Result {
  do {
    return try body()
  } catch {
    throw HearthError(translating: error)
  }
}
