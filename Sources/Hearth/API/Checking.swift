import Foundation
import HearthCRDT
import HearthStore
import HearthSync

/// The result of a check of all data of a node.
public struct VerificationResult: Sendable {
  /// A fault of one zone.
  public struct Fault: Hashable, Sendable {
    /// The zone; nil for a fault of the file itself.
    public let zone: Key<HearthZone>?
    /// The fault in words.
    public let message: String
  }

  /// The number of encrypted segments that were opened and checked again.
  public let segments: Int
  /// The number of changes in them.
  public let changes: Int
  /// The faults; empty if all data is sound.
  public let faults: [Fault]

  /// Whether all data is sound.
  public var isSound: Bool { faults.isEmpty }

  init(_ verification: Verification) {
    segments = verification.zones.reduce(0) { $0 + $1.segments }
    changes = verification.zones.reduce(0) { $0 + $1.changes }
    let files = verification.fileFaults.map { Fault(zone: nil, message: $0) }
    faults =
      files
      + verification.zones.flatMap { zone in
        zone.faults.map {
          Fault(zone: Key(zone.zone.id), message: ProgramWords.text($0, .corrupt))
        }
      }
  }
}

/// Something that happened to a node or its zones, and that its person should know.
public struct NodeNotice: Hashable, Sendable {
  /// The kind of a notice; newer versions may have further ones.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    /// The stable word for the kind.
    public let rawValue: String

    /// Makes a kind from its stable word.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// Others changed the people of a zone, or its owner.
    public static let people = Kind(rawValue: "people")
    /// A folder or relay was set back to an older state of itself.
    public static let transport = Kind(rawValue: "transport")
    /// A person's recovery words were used or replaced.
    public static let recovery = Kind(rawValue: "recovery")
    /// A device's clock differs widely from this device's clock.
    public static let clock = Kind(rawValue: "clock")
  }

  /// The kind.
  public let kind: Kind
  /// The zone that it is about; nil if it is about none.
  public let zone: Key<HearthZone>?
  /// What happened, in words.
  public let message: String
  /// When this node noticed it.
  public let time: Date

  init(_ notice: Notice) {
    kind = Kind(rawValue: notice.kind.rawValue)
    zone = notice.zone.map { Key($0) }
    message = ProgramWords.fault(of: notice.text) ?? "a notice of the kind \(notice.kind.rawValue)"
    time = Date(milliseconds: notice.milliseconds)
  }
}

extension HearthNode {
  /// Checks all data of this node against its signatures, hash chains and rules.
  ///
  /// It changes nothing, and takes as long as there is data; other calls wait.
  ///
  /// - Throws: `closed`; `io`.
  public func verify() async throws(HearthError) -> VerificationResult {
    try await reported { VerificationResult(try await node.integrity.verify()) }
  }

  /// Rebuilds damaged data that follows from sound data, such as records from their log.
  ///
  /// A zone with a damaged log stays as it is.
  ///
  /// - Returns: the result of a check afterwards.
  /// - Throws: `closed`; `io`.
  @discardableResult
  public func repair() async throws(HearthError) -> VerificationResult {
    try await reported { VerificationResult(try await node.integrity.repair()) }
  }

  /// Returns what happened to this node and its zones, the oldest first.
  public func notices() async throws(HearthError) -> [NodeNotice] {
    try await reported {
      try await node.reading { try $0.store.notices.all().map { NodeNotice($0) } }
    }
  }
}
