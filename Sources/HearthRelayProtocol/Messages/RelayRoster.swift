import HearthCRDT
import HearthCrypto

/// What a device's own key is worth at a mailbox.
package enum RelayRank: UInt8, Sendable, CaseIterable {
  /// Nobody has listed the key: whoever has the access key may read, and store a little.
  case guest = 0
  /// A manager has listed the key: it opens the mailbox, and stores up to a share.
  case author = 1
  /// The key may do everything: list others, change the access key, take away what anybody stored.
  case manager = 2
  /// A manager has taken the key off the list, and the relay tells so to its holder.
  case struck = 3

  /// Whether the key is on the list.
  package var isListed: Bool { self == .author || self == .manager }
}

/// One key of a mailbox's list, and what was stored with it.
package struct RelaySeat: Hashable, Sendable {
  /// The device's key at this relay (`RelayPseudonym`), 32 bytes.
  package var key: [UInt8]
  /// What it is worth.
  package var rank: RelayRank
  /// The bytes of live blobs, and of names with their rows, that were stored with it.
  package var usedBytes: UInt64
  /// The entries that were appended with it, live or not.
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
    rank = try reader.rank()
    usedBytes = try reader.varint("used bytes")
    entries = try reader.varint("entries")
  }
}

/// Who may do what in a mailbox, and who stored how much.
package struct RelayRosterReport: Hashable, Sendable {
  /// The listed and struck keys, sorted.
  package var seats: [RelaySeat]
  /// What all others stored together.
  package var guests: RelaySeat

  package init(seats: [RelaySeat], guests: RelaySeat) {
    self.seats = seats
    self.guests = guests
  }

  /// What ``RelayOpened/roster`` tells of a list: 16 bytes over its keys and ranks.
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

  /// ``digest(managers:authors:)`` of the list.
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

extension ByteReader {
  mutating func rank() throws(CodecError) -> RelayRank {
    let start = offset
    guard let rank = RelayRank(rawValue: try byte("rank")) else {
      throw CodecError(.unknown, "rank", offset: start)
    }
    return rank
  }
}
