import HearthCRDT
import HearthCrypto

/// What is known of a waiting segment without opening it again.
package struct PendingEntry: Equatable, Sendable {
  /// BLAKE2b-128 of the bytes.
  package let digest: Identifier
  /// What it waits for.
  package var reason: PendingReason
  /// What it waits for, and what its author had seen, as far as that is known.
  package var wait: PendingWait
  /// The opaque tag of who it claims to be of.
  package let authorTag: Identifier
  /// Which life of that device.
  package let incarnation: UInt64
  /// The first change that it claims to hold.
  package let first: UInt64
  /// The last one.
  package let last: UInt64
  /// The opaque tag of the key that it is under; of no meaning in a suite that is not known.
  package let epochTag: Identifier
  /// How many bytes it has.
  package let byteCount: Int

  package init(
    digest: Identifier, reason: PendingReason, wait: PendingWait, authorTag: Identifier,
    incarnation: UInt64, first: UInt64, last: UInt64, epochTag: Identifier, byteCount: Int
  ) {
    self.digest = digest
    self.reason = reason
    self.wait = wait
    self.authorTag = authorTag
    self.incarnation = incarnation
    self.first = first
    self.last = last
    self.epochTag = epochTag
    self.byteCount = byteCount
  }

  /// Who it claims to be of; nil where no device of the zone is known by that tag.
  package func author(in zone: ZoneState) -> Author? {
    zone.deviceByTag[authorTag].map { Author(device: $0, incarnation: incarnation) }
  }

  /// Reads the clear part of a segment; zeros where there is none.
  init(_ segment: PendingSegment) {
    let frame = try? EnvelopeFrame(segment.bytes)
    let none = Identifier(high: 0, low: 0)
    self.init(
      digest: segment.digest, reason: segment.reason, wait: segment.wait,
      authorTag: frame.map { Identifier($0.authorTag) } ?? none,
      incarnation: frame?.incarnation ?? 0, first: frame?.firstSeq ?? 0,
      last: frame?.lastSeq ?? 0, epochTag: frame.map { Identifier($0.epochTag) } ?? none,
      byteCount: segment.bytes.count)
  }

  /// The order in which segments of one log are tried: by first change, the longest first.
  static func isBefore(_ left: PendingEntry, _ right: PendingEntry) -> Bool {
    if left.authorTag != right.authorTag { return left.authorTag < right.authorTag }
    if left.incarnation != right.incarnation { return left.incarnation < right.incarnation }
    if left.first != right.first { return left.first < right.first }
    if left.last != right.last { return left.last > right.last }
    return left.digest < right.digest
  }
}

/// What a segment was found to lack when it was opened.
package struct PendingWait: Equatable, Sendable {
  /// A change that must come first; nil where none was found.
  package var missing: Dot?
  /// Whether that is one of the group's control zone.
  package var isInControl: Bool
  /// The claim for which its log is held back, where it holds the change that makes it.
  package var claim: FalseClaim?
  /// Whether a part of it is applied, so that the log needs it.
  package var isPartlyApplied: Bool
  /// How much its author had newly seen of its zone in what is not applied of it, at least.
  package var seen: Frontier
  /// The same of the group's control zone.
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

  /// The most authors whose news is noted: more are not needed to say that something is missing.
  package static let maximumNoted = 256

  /// Notes what changes, of which none is applied, had newly seen.
  mutating func note(_ changes: some Sequence<Change>) {
    for change in changes {
      // What cannot be counted is not believed.
      seen = seen.raised(by: change.seen) ?? seen
      controlSeen = controlSeen.raised(by: change.controlSeen) ?? controlSeen
    }
    seen = seen.prefix(PendingWait.maximumNoted)
    controlSeen = controlSeen.prefix(PendingWait.maximumNoted)
  }

  /// The bytes in which the store keeps it.
  package var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 32)
    writer.byte(
      (missing == nil ? 0 : 1) | (isInControl ? 2 : 0) | (claim == nil ? 0 : 4)
        | (isPartlyApplied ? 8 : 0))
    if let missing { writer.dot(missing) }
    if let claim { writer.claim(claim) }
    writer.frontier(seen)
    writer.frontier(controlSeen)
    return writer.bytes
  }

  /// Reads what ``encoded`` wrote.
  package init(decoding bytes: [UInt8]) throws(CodecError) {
    var reader = ByteReader(bytes)
    let flags = try reader.byte("wait")
    guard flags < 16 else { throw CodecError(.unknown, "wait", offset: 0) }
    missing = flags & 1 != 0 ? try reader.dot("missing change") : nil
    isInControl = flags & 2 != 0
    isPartlyApplied = flags & 8 != 0
    claim = flags & 4 != 0 ? try reader.claim() : nil
    seen = try reader.frontier("seen")
    controlSeen = try reader.frontier("control seen")
    try reader.finish()
  }
}

extension ByteWriter {
  fileprivate mutating func dot(_ dot: Dot) {
    author(dot.author)
    varint(dot.sequence)
  }

  /// Writes a false claim as the store keeps it.
  fileprivate mutating func claim(_ claim: FalseClaim) {
    dot(Dot(author: claim.author, sequence: claim.sequence))
    let kind: UInt8 =
      switch claim.kind {
      case .content: 0
      case .past: 1
      case .summedUp: 4
      }
    byte(kind | (claim.isControl ? 2 : 0))
    dot(claim.cited)
  }
}

extension ByteReader {
  fileprivate mutating func dot(_ what: String) throws(CodecError) -> Dot {
    Dot(author: try author(what), sequence: try varint(what))
  }

  /// Reads what the store keeps of a false claim.
  fileprivate mutating func claim() throws(CodecError) -> FalseClaim {
    let change = try dot("claim")
    let flags = try byte("kind of claim")
    guard flags < 6 else { throw CodecError(.unknown, "kind of claim", offset: offset) }
    return FalseClaim(
      author: change.author, sequence: change.sequence,
      kind: flags & 4 != 0 ? .summedUp : flags & 1 != 0 ? .past : .content,
      cited: try dot("cited change"), isControl: flags & 2 != 0)
  }
}

extension Frontier {
  /// The marks of the first authors alone.
  fileprivate func prefix(_ count: Int) -> Frontier {
    entries.count <= count ? self : Frontier(entries.prefix(count).map { ($0.author, $0.sequence) })
  }
}
