import HearthCRDT
import HearthCrypto

/// The rank of a device's own key at a mailbox.
package enum RelayRank: UInt8, Sendable, CaseIterable {
  /// Nobody has listed the key: a holder of the access key may read, and store a little.
  case guest = 0
  /// A manager has listed the key: it opens the mailbox, and stores up to a share.
  case author = 1
  /// The key may do everything: set ranks, change the access key, remove anybody's entries.
  case manager = 2
  /// A manager has removed the key from the roster. The relay reports that to the key's holder.
  case struck = 3

  /// Whether the key is on the roster.
  package var isListed: Bool { self == .author || self == .manager }

  /// Reads the number of a rank.
  package init(from reader: inout ByteReader) throws(CodecError) {
    self = try reader.choice("rank") { RelayRank(rawValue: $0) }
  }
}

/// One key of a mailbox's roster, and how much was stored with it.
package struct RelaySeat: Hashable, Sendable {
  /// The device's key at this relay (`RelayPseudonym`), 32 bytes.
  package var key: [UInt8]
  /// The key's rank.
  package var rank: RelayRank
  /// The bytes of live blobs, and of names with their rows, that were stored with the key.
  package var usedBytes: UInt64
  /// The entries that were appended with the key, live or not.
  package var entries: UInt64

  package init(key: [UInt8], rank: RelayRank, usedBytes: UInt64 = 0, entries: UInt64 = 0) {
    self.key = key
    self.rank = rank
    self.usedBytes = usedBytes
    self.entries = entries
  }

  static let minimumBytes = 35

  func encode(into writer: inout ByteWriter) {
    writer.raw(key)
    writer.byte(rank.rawValue)
    writer.varint(usedBytes)
    writer.varint(entries)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    key = try reader.raw(SigningPublicKey.count, "key")
    rank = try RelayRank(from: &reader)
    usedBytes = try reader.varint("used bytes")
    entries = try reader.varint("entries")
  }
}

/// The roster of a mailbox, and how much each key stored.
package struct RelayRosterReport: Hashable, Sendable {
  /// The listed and removed keys, sorted.
  package var seats: [RelaySeat]
  /// The total that all other keys stored.
  package var guests: RelaySeat

  package init(seats: [RelaySeat], guests: RelaySeat) {
    self.seats = seats
    self.guests = guests
  }

  /// The bytes that all keys stored.
  package var usedBytes: UInt64 { sum(\.usedBytes) }

  /// The entries that all keys appended, live or not.
  package var entries: UInt64 { sum(\.entries) }

  /// A sum over all keys, which ends at the greatest number: a relay may state any.
  private func sum(_ value: (RelaySeat) -> UInt64) -> UInt64 {
    (seats + [guests]).reduce(0) { total, seat in
      let (next, isOver) = total.addingReportingOverflow(value(seat))
      return isOver ? .max : next
    }
  }

  /// The digest in ``RelayOpened/roster``: 16 bytes over the roster's keys and ranks.
  package static func digest(managers: Set<[UInt8]>, authors: Set<[UInt8]>) -> Bytes16 {
    let listed =
      managers.map { (key: $0, rank: RelayRank.manager) }
      + authors.subtracting(managers).map { (key: $0, rank: RelayRank.author) }
    var hasher = Blake2b.Hasher(count: 16)
    hasher.update("HRTH/relay-roster/v1" as Domain)
    for seat in listed.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      hasher.update(seat.key)
      hasher.update([seat.rank.rawValue])
    }
    return Bytes16(exactly: hasher.finalize())
  }

  /// The ``digest(managers:authors:)`` of this roster.
  package var digest: Bytes16 {
    func keys(of rank: RelayRank) -> Set<[UInt8]> {
      Set(seats.filter { $0.rank == rank }.map(\.key))
    }
    return RelayRosterReport.digest(managers: keys(of: .manager), authors: keys(of: .author))
  }

  func encode(into writer: inout ByteWriter) {
    writer.varint(seats.count)
    for seat in seats { seat.encode(into: &writer) }
    writer.varint(guests.usedBytes)
    writer.varint(guests.entries)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    let number = try reader.count(
      "seats", itemBytes: RelaySeat.minimumBytes, atMost: RelayLimits.maximumSeats)
    var seats: [RelaySeat] = []
    for _ in 0..<number {
      let start = reader.offset
      let seat = try RelaySeat(from: &reader)
      if let last = seats.last, !last.key.lexicographicallyPrecedes(seat.key) {
        throw CodecError(.notCanonical, "key", offset: start)
      }
      seats.append(seat)
    }
    self.seats = seats
    guests = RelaySeat(
      key: [], rank: .guest, usedBytes: try reader.varint("used bytes"),
      entries: try reader.varint("entries"))
  }
}

/// The proof that a client holds a device's own key, beside the proof of an access key.
package struct RelayAuthorProof: Hashable, Sendable {
  /// The device's key at this relay.
  package let key: [UInt8]
  /// `RelayAccess.proveAuthor`, 64 bytes.
  package let signature: [UInt8]

  package init(key: [UInt8], signature: [UInt8]) {
    self.key = key
    self.signature = signature
  }

  func encode(into writer: inout ByteWriter) {
    writer.raw(key)
    writer.raw(signature)
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    key = try reader.raw(SigningPublicKey.count, "author key")
    signature = try reader.raw(Signature.count, "author signature")
  }
}
