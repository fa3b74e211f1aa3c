/// The reason why a transport failed, in words for a person.
///
/// This is the error of the port ``Transport``: the engine continues without a transport that
/// throws it. Two errors are equal if their codes are equal: the words may change, the code may
/// not.
package struct TransportError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The kind of fault, stable across versions.
  package struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The code in logs and exports.
    package let rawValue: String
    package var description: String { rawValue }

    /// The folder does not exist.
    package static let folderMissing = Code(rawValue: "transport.folder.missing")
    /// Something other than a folder exists at the folder's path.
    package static let folderNotDirectory = Code(rawValue: "transport.folder.not-directory")
    /// The node has no permission to read the folder.
    package static let folderUnreadable = Code(rawValue: "transport.folder.unreadable")
    /// The node has no permission to write to the folder.
    package static let folderReadOnly = Code(rawValue: "transport.folder.read-only")
    /// The disk, or this user's share of it, is full.
    package static let diskFull = Code(rawValue: "transport.disk-full")
    /// Something of another kind exists where a file or folder of Hearth belongs.
    package static let nameTaken = Code(rawValue: "transport.name-taken")
    /// The transport does not have the requested item.
    package static let notFound = Code(rawValue: "transport.not-found")
    /// The file exists but is empty.
    package static let emptyFile = Code(rawValue: "transport.file.empty")
    /// The file's content does not have the digest in its name.
    package static let contentMismatch = Code(rawValue: "transport.file.mismatch")
    /// The file, or the data to store, is larger than any sealed blob may be.
    package static let tooLarge = Code(rawValue: "transport.file.too-large")
    /// A link, pipe, socket, device or folder exists where a file belongs; it was not opened.
    package static let notRegularFile = Code(rawValue: "transport.file.not-regular")
    /// The name cannot be spelled in the folder, or does not fit the bytes to store.
    package static let invalidName = Code(rawValue: "transport.invalid-name")
    /// The process or the system has no file descriptor left.
    package static let tooManyOpenFiles = Code(rawValue: "transport.too-many-open-files")
    /// The relay is unreachable, or stopped answering.
    package static let relayUnreachable = Code(rawValue: "transport.relay.unreachable")
    /// The relay's certificate differs from the one in its address.
    package static let relayCertificate = Code(rawValue: "transport.relay.certificate")
    /// The relay does not permit the request of this device.
    package static let relayRefused = Code(rawValue: "transport.relay.refused")
    /// The relay cannot serve the request now, or not for this node: quota, rate, or a fault of its
    /// own.
    package static let relayFault = Code(rawValue: "transport.relay.fault")
    /// The mailbox is full.
    package static let relayMailboxFull = Code(rawValue: "transport.relay.mailbox-full")
    /// All mailboxes together use all the space that the relay's operator grants.
    package static let relayFull = Code(rawValue: "transport.relay.full")
    /// The relay's answers contradict each other.
    package static let relayInconsistent = Code(rawValue: "transport.relay.inconsistent")
    /// Any other fault of the file system.
    package static let inputOutput = Code(rawValue: "transport.input-output")
  }

  /// The kind of fault.
  package let code: Code
  /// Where the fault is: the folder's path, or a path below it.
  package let place: String
  /// What is wrong, and where.
  package let message: String
  /// What a person can do about the fault.
  package let remedy: String
  /// The system's own error, if there was one.
  package let cause: (any Error)?

  package init(
    _ code: Code, place: String, message: String, remedy: String, cause: (any Error)? = nil
  ) {
    self.code = code
    self.place = place
    self.message = message
    self.remedy = remedy
    self.cause = cause
  }

  package static func == (left: TransportError, right: TransportError) -> Bool {
    left.code == right.code
  }

  package var description: String {
    let reason = cause.map { " (\($0))" } ?? ""
    return "\(message)\(reason); \(remedy)"
  }

  /// The fault as an entry of a listing.
  package func problem(hidesData: Bool) -> TransportProblem {
    let reason = cause.map { " (\($0))" } ?? ""
    return TransportProblem(
      place: place, fault: message + reason, remedy: remedy, hidesData: hidesData)
  }
}
