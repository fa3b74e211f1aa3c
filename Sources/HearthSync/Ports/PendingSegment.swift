import HearthCRDT

/// A segment that cannot be applied yet.
package struct PendingSegment: Equatable, Sendable {
  /// BLAKE2b-128 of the bytes.
  package let digest: Identifier
  /// The reason why the segment is pending.
  package var reason: PendingReason
  /// What the segment lacked when it was opened.
  package var wait: PendingWait
  package let bytes: [UInt8]

  package init(
    digest: Identifier, reason: PendingReason, wait: PendingWait = PendingWait(), bytes: [UInt8]
  ) {
    self.digest = digest
    self.reason = reason
    self.wait = wait
    self.bytes = bytes
  }
}

/// The reason why a segment is pending.
package enum PendingReason: String, Sendable {
  /// Earlier changes of its author are missing.
  case gap
  /// Changes of others that its author had seen are missing.
  case cause
  /// The operation that admits its author is missing.
  case author
  /// The key of its epoch is missing.
  case epoch
  /// The author contradicted itself, and a person must decide.
  case quarantine
  /// The author cites a change that nobody is known to have written; another history of the cited
  /// log would show it.
  case falseClaim
  /// Only a newer version of Hearth can read it.
  case format
}

/// What a segment lacked when it was opened.
package struct PendingWait: Equatable, Sendable {
  /// A change that must come first; nil if none was found.
  package var missing: Dot?
  /// Whether the missing change belongs to the group's control zone.
  package var isInControl: Bool
  /// The claim for which the log is held back, if the segment contains the change that makes it.
  package var claim: FalseClaim?
  /// Whether a part of the segment is applied, so that the log needs the segment.
  package var isPartlyApplied: Bool
  /// What its author had newly seen of its zone in the changes that are not applied, at least.
  package var seen: Frontier
  /// What its author had newly seen of the group's control zone in those changes, at least.
  package var controlSeen: Frontier

  package init(
    missing: Dot? = nil, isInControl: Bool = false, claim: FalseClaim? = nil,
    isPartlyApplied: Bool = false, seen: Frontier = Frontier(), controlSeen: Frontier = Frontier()
  ) {
    self.missing = missing
    self.isInControl = isInControl
    self.claim = claim
    self.isPartlyApplied = isPartlyApplied
    self.seen = seen
    self.controlSeen = controlSeen
  }

  /// The most authors whose citations are noted: more are not needed to detect that something is
  /// missing.
  package static let maximumNoted = 256

  /// Notes what changes had newly seen, none of which is applied.
  mutating func note(_ changes: some Sequence<Change>) {
    for change in changes {
      // A frontier that cannot be computed is ignored.
      seen = seen.raised(by: change.seen) ?? seen
      controlSeen = controlSeen.raised(by: change.controlSeen) ?? controlSeen
    }
    seen = PendingWait.noted(seen)
    controlSeen = PendingWait.noted(controlSeen)
  }

  /// The entries of the first authors only.
  private static func noted(_ frontier: Frontier) -> Frontier {
    guard frontier.entries.count > maximumNoted else { return frontier }
    return Frontier(frontier.entries.prefix(maximumNoted).map { ($0.author, $0.sequence) })
  }

  /// The encoding for the store.
  package var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 32)
    writer.byte(
      (missing == nil ? 0 : 1) | (isInControl ? 2 : 0) | (claim == nil ? 0 : 4)
        | (isPartlyApplied ? 8 : 0))
    if let missing { PendingWait.encode(missing, into: &writer) }
    claim?.encode(into: &writer)
    writer.frontier(seen)
    writer.frontier(controlSeen)
    return writer.bytes
  }

  /// Reads the output of ``encoded``.
  package init(decoding bytes: [UInt8]) throws(CodecError) {
    var reader = ByteReader(bytes)
    let flags = try reader.byte("wait")
    guard flags < 16 else { throw CodecError(.unknown, "wait", offset: 0) }
    missing = flags & 1 != 0 ? try PendingWait.dot(from: &reader, "missing change") : nil
    isInControl = flags & 2 != 0
    isPartlyApplied = flags & 8 != 0
    claim = flags & 4 != 0 ? try FalseClaim(from: &reader) : nil
    seen = try reader.frontier("seen")
    controlSeen = try reader.frontier("control seen")
    try reader.finish()
  }
}

extension PendingWait {
  fileprivate static func encode(_ dot: Dot, into writer: inout ByteWriter) {
    writer.author(dot.author)
    writer.varint(dot.sequence)
  }

  fileprivate static func dot(
    from reader: inout ByteReader, _ item: String
  ) throws(CodecError) -> Dot {
    Dot(author: try reader.author(item), sequence: try reader.varint(item))
  }
}

extension FalseClaim {
  /// Writes the store's encoding.
  fileprivate func encode(into writer: inout ByteWriter) {
    PendingWait.encode(Dot(author: author, sequence: sequence), into: &writer)
    let kind: UInt8 =
      switch self.kind {
      case .content: 0
      case .past: 1
      case .summedUp: 4
      }
    writer.byte(kind | (isControl ? 2 : 0))
    PendingWait.encode(cited, into: &writer)
  }

  /// Reads the store's encoding.
  fileprivate init(from reader: inout ByteReader) throws(CodecError) {
    let change = try PendingWait.dot(from: &reader, "claim")
    let flags = try reader.byte("kind of claim")
    guard flags < 6 else {
      throw CodecError(.unknown, "kind of claim", offset: reader.offset)
    }
    self.init(
      author: change.author, sequence: change.sequence,
      kind: flags & 4 != 0 ? .summedUp : flags & 1 != 0 ? .past : .content,
      cited: try PendingWait.dot(from: &reader, "cited change"), isControl: flags & 2 != 0)
  }
}
