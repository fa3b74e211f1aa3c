import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// The keys that a mailbox's managers have listed, and how much was stored with each.
///
/// A pure value that every log stores in the mailbox's row, so that all decide alike. An entry
/// names the seat that stored it by the seat's number; 0 stands for all unlisted keys.
package struct RelayRoster: Hashable, Sendable {
  /// A key with its number.
  package struct Seat: Hashable, Sendable {
    /// The number that entries refer to; never used for another key.
    package var number: Int64
    /// The key, its rank and how much was stored with it.
    package var seat: RelaySeat
  }

  /// The number of all keys without a seat.
  package static let guests: Int64 = 0

  /// The seats, by number.
  package private(set) var seats: [Seat] = []
  /// The bytes that keys without a seat store.
  package private(set) var guestBytes: UInt64 = 0
  /// The number of entries that keys without a seat appended.
  package private(set) var guestEntries: UInt64 = 0
  private var lastNumber: Int64 = 0

  package init(managers: [[UInt8]] = []) {
    for key in managers { add(key, .manager) }
  }

  // MARK: Keys and seats

  /// The key with the first seat, which the mailbox's creator has proven; empty if that seat was
  /// forgotten.
  package var maker: [UInt8] { seats.first { $0.number == 1 }?.seat.key ?? [] }
  /// The managers' keys, sorted.
  package var managers: [[UInt8]] { keys(of: .manager) }
  /// The keys of listed non-managers, sorted.
  package var authors: [[UInt8]] { keys(of: .author) }

  private func keys(of rank: RelayRank) -> [[UInt8]] {
    seats.filter { $0.seat.rank == rank }.map(\.seat.key)
      .sorted { $0.lexicographicallyPrecedes($1) }
  }

  /// Returns the rank of a key; guest for a key that is not listed.
  package func rank(of key: [UInt8]) -> RelayRank {
    seats.first { $0.seat.key == key }?.seat.rank ?? .guest
  }

  /// Returns the number of a key's seat; that of guests if it has none.
  package func number(of key: [UInt8]) -> Int64 {
    seats.first { $0.seat.key == key }?.number ?? RelayRoster.guests
  }

  /// ``RelayRosterReport/digest(managers:authors:)`` of the roster.
  package var digest: Bytes16 {
    RelayRosterReport.digest(managers: Set(managers), authors: Set(authors))
  }

  /// The report of the roster for members.
  package var report: RelayRosterReport {
    RelayRosterReport(
      seats: seats.map(\.seat).sorted { $0.key.lexicographicallyPrecedes($1.key) },
      guests: guestSeat)
  }

  /// The use by all keys without a seat.
  var guestSeat: RelaySeat {
    RelaySeat(key: [], rank: .guest, usedBytes: guestBytes, entries: guestEntries)
  }

  /// Returns which entries a key stands for: those of its seat, or those of no present seat.
  package func entries(of key: [UInt8]) -> RelayEntriesOf {
    let number = number(of: key)
    return number == RelayRoster.guests ? .noneOf(seats.map(\.number)) : .seat(number)
  }

  // MARK: Listing

  /// Sets a key's rank or removes the key.
  ///
  /// - Returns: false if the roster is full, or if the last manager would be removed.
  package mutating func set(_ key: [UInt8], to rank: RelayRank) -> Bool {
    let rank = rank == .guest ? .struck : rank
    let before = self.rank(of: key)
    guard before != rank else { return true }
    if before == .manager, managers.count == 1 { return false }
    switch rank {
    case .manager: guard managers.count < RelayLimits.maximumManagers else { return false }
    case .author: guard authors.count < RelayLimits.maximumAuthors else { return false }
    case .guest, .struck: break
    }
    if let place = seats.firstIndex(where: { $0.seat.key == key }) {
      seats[place].seat.rank = rank
    } else if rank != .struck {
      if seats.count >= RelayLimits.maximumSeats { forgetOneStruck() }
      add(key, rank)
    }
    return true
  }

  private mutating func add(_ key: [UInt8], _ rank: RelayRank) {
    lastNumber += 1
    seats.append(Seat(number: lastNumber, seat: RelaySeat(key: key, rank: rank)))
  }

  /// Makes room: the removed key that was listed first counts as a guest from now on.
  private mutating func forgetOneStruck() {
    guard let place = seats.firstIndex(where: { $0.seat.rank == .struck }) else { return }
    let seat = seats.remove(at: place).seat
    guestBytes += seat.usedBytes
    guestEntries += seat.entries
  }

  // MARK: Use

  /// Charges bytes and entries to a seat.
  package mutating func charge(_ number: Int64, bytes: UInt64, entries: UInt64 = 0) {
    if let place = seats.firstIndex(where: { $0.number == number }) {
      seats[place].seat.usedBytes += bytes
      seats[place].seat.entries += entries
    } else {
      guestBytes += bytes
      guestEntries += entries
    }
  }

  /// Credits a seat with the bytes of a deleted blob.
  package mutating func credit(_ number: Int64, bytes: UInt64) {
    if let place = seats.firstIndex(where: { $0.number == number }) {
      seats[place].seat.usedBytes -= min(bytes, seats[place].seat.usedBytes)
    } else {
      guestBytes -= min(bytes, guestBytes)
    }
  }

  /// Resets all counts, because nothing is stored any more.
  package mutating func clearUse() {
    for place in seats.indices {
      seats[place].seat.usedBytes = 0
      seats[place].seat.entries = 0
    }
    (guestBytes, guestEntries) = (0, 0)
  }

  // MARK: Encoding

  /// The stored form.
  package var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 32 + seats.count * 48)
    writer.varint(UInt64(lastNumber))
    writer.varint(guestBytes)
    writer.varint(guestEntries)
    writer.varint(seats.count)
    for seat in seats {
      writer.varint(UInt64(seat.number))
      writer.raw(seat.seat.key)
      writer.byte(seat.seat.rank.rawValue)
      writer.varint(seat.seat.usedBytes)
      writer.varint(seat.seat.entries)
    }
    return writer.bytes
  }

  /// The longest that ``encoded`` can be.
  package static let maximumBytes = 64 + RelayLimits.maximumSeats * 64

  package init(decoding bytes: [UInt8]) throws(CodecError) {
    var reader = ByteReader(bytes)
    lastNumber = try RelayRoster.seatNumber(from: &reader)
    guestBytes = try reader.varint("used bytes")
    guestEntries = try reader.varint("entries")
    let count = try reader.count("seats", itemBytes: 36, atMost: RelayLimits.maximumSeats)
    for _ in 0..<count {
      let start = reader.offset
      let number = try RelayRoster.seatNumber(from: &reader)
      guard number > seats.last?.number ?? 0, number <= lastNumber else {
        throw CodecError(.notCanonical, "seat", offset: start)
      }
      let key = try reader.raw(SigningPublicKey.count, "key")
      let rank = try RelayRank(from: &reader)
      seats.append(
        Seat(
          number: number,
          seat: RelaySeat(
            key: key, rank: rank, usedBytes: try reader.varint("used bytes"),
            entries: try reader.varint("entries"))))
    }
    try reader.finish()
  }

  private static func seatNumber(from reader: inout ByteReader) throws(CodecError) -> Int64 {
    let start = reader.offset
    let value = try reader.varint("seat")
    guard let number = Int64(exactly: value) else {
      throw CodecError(.beyondLimit, "seat", offset: start)
    }
    return number
  }
}

/// A selection of entries by author.
///
/// Entries keep the number of a forgotten seat. So guests' entries are those that no present seat
/// has.
package enum RelayEntriesOf: Hashable, Sendable {
  /// The entries that one seat stored.
  case seat(Int64)
  /// The entries that none of these seats stored.
  case noneOf([Int64])

  /// Whether an entry is selected, by the number of the seat that stored it.
  package func takes(_ number: Int64) -> Bool {
    switch self {
    case .seat(let seat): number == seat
    case .noneOf(let seats): !seats.contains(number)
    }
  }
}
