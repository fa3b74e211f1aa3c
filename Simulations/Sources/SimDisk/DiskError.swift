import GRDBSQLite

/// Why a simulated disk did not do something with a small file.
package struct DiskError: Error, Sendable {
  /// The kind of failure; programs decide on this alone.
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// There is no file of this name, or the name is not one.
    package static let notFound = Code(rawValue: "notFound")
    /// The disk is full.
    package static let full = Code(rawValue: "full")
    /// The disk failed, or the machine is down.
    package static let io = Code(rawValue: "io")
    /// A position lies outside of the file.
    package static let range = Code(rawValue: "range")
    /// The host of the simulation has no memory left.
    package static let noMemory = Code(rawValue: "noMemory")
  }

  /// The kind of failure.
  package let code: Code
  /// What happened to which file.
  package let message: String
  /// Always nil: nothing lies below a simulated disk.
  package let cause: (any Error)?

  // SQLITE_IOERR_DELETE_NOENT, a macro that Swift does not import.
  private static let deleteFoundNone = SQLITE_IOERR | 23 << 8

  /// An error of this kind, as in expectations.
  package init(_ code: Code, _ message: String = "") {
    self.code = code
    self.message = message
    cause = nil
  }

  /// Throws if a result code of the C functions is not success.
  static func check(_ status: Int32, _ name: String) throws {
    switch status & 0xff {
    case SQLITE_OK: return
    case SQLITE_CANTOPEN: throw DiskError(.notFound, "there is no file \(name)")
    case SQLITE_IOERR where status == DiskError.deleteFoundNone:
      throw DiskError(.notFound, "there is no file \(name)")
    case SQLITE_FULL: throw DiskError(.full, "no room for \(name)")
    case SQLITE_RANGE: throw DiskError(.range, "the position is outside of \(name)")
    case SQLITE_NOMEM: throw DiskError(.noMemory, "no memory for \(name)")
    default: throw DiskError(.io, "the disk failed at \(name), or the machine is down")
    }
  }
}

extension DiskError: Equatable {
  package static func == (left: DiskError, right: DiskError) -> Bool {
    left.code == right.code
  }
}

extension DiskError: CustomStringConvertible {
  package var description: String { message }
}
