import CPostgres
import HearthCRDT
import HearthCrypto
import HearthRelayCore
import HearthRelayProtocol

/// A parameter of a statement, in PostgreSQL's binary format.
enum PostgresValue {
  case int8(Int64)
  case bytes([UInt8])
  case text(String)
  case int8s([Int64])
  case byteStrings([[UInt8]?])
  case texts([String])
  case null

  /// The bytes to send; nil for NULL.
  var encoded: [UInt8]? {
    switch self {
    case .int8(let value): PostgresValue.bigEndian(value)
    case .bytes(let bytes): bytes
    case .text(let text): Array(text.utf8)
    case .int8s(let values):
      PostgresValue.array(of: 20, values.map { PostgresValue.bigEndian($0) })
    case .byteStrings(let values): PostgresValue.array(of: 17, values)
    case .texts(let values): PostgresValue.array(of: 25, values.map { Array($0.utf8) })
    case .null: nil
    }
  }

  /// Encodes a one-dimensional array.
  ///
  /// The format is: dimensions, whether there are NULLs, the type of the elements, count, lower
  /// bound, then each element after its length (PostgreSQL, `array_send`).
  private static func array(of type: Int32, _ elements: [[UInt8]?]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(20 + elements.reduce(0) { $0 + 4 + ($1?.count ?? 0) })
    bytes += bigEndian(Int32(elements.isEmpty ? 0 : 1))
    bytes += bigEndian(Int32(elements.contains { $0 == nil } ? 1 : 0))
    bytes += bigEndian(type)
    guard !elements.isEmpty else { return bytes }
    bytes += bigEndian(Int32(elements.count))
    bytes += bigEndian(Int32(1))
    for element in elements {
      bytes += bigEndian(element.map { Int32($0.count) } ?? -1)
      if let element { bytes += element }
    }
    return bytes
  }

  private static func bigEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
}

/// The rows of a statement's result.
///
/// Every length is checked before a byte is taken.
final class PostgresRows {
  private let result: OpaquePointer
  /// The number of rows.
  let count: Int

  /// Takes ownership of a result of libpq.
  init(taking result: OpaquePointer) {
    self.result = result
    count = Int(PQntuples(result))
  }

  deinit { PQclear(result) }

  /// The server's command tag, such as `COMMIT` or `ROLLBACK`.
  var tag: String { PQcmdStatus(result).map { String(cString: $0) } ?? "" }

  func isNull(_ row: Int, _ column: Int) -> Bool {
    PQgetisnull(result, Int32(row), Int32(column)) == 1
  }

  /// The bytes of a column, up to a limit.
  func bytes(_ row: Int, _ column: Int, atMost limit: Int) throws(PostgresFault) -> [UInt8] {
    guard row < count, column < PQnfields(result), !isNull(row, column),
      let start = PQgetvalue(result, Int32(row), Int32(column))
    else { throw PostgresFault.damaged }
    let length = Int(PQgetlength(result, Int32(row), Int32(column)))
    guard length <= limit else { throw PostgresFault.damaged }
    return Array(UnsafeRawBufferPointer(start: start, count: length))
  }

  /// A blob, without any check of its content.
  func blob(_ row: Int, _ column: Int) throws(PostgresFault) -> [UInt8] {
    try bytes(row, column, atMost: RelayLimits.maximumBlobBytes)
  }

  func int8(_ row: Int, _ column: Int) throws(PostgresFault) -> Int64 {
    let bytes = try bytes(row, column, atMost: 8)
    guard bytes.count == 8 else { throw PostgresFault.damaged }
    return Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) })
  }

  /// A number that is never negative.
  func uint(_ row: Int, _ column: Int) throws(PostgresFault) -> UInt64 {
    guard let value = UInt64(exactly: try int8(row, column)) else { throw PostgresFault.damaged }
    return value
  }

  func text(_ row: Int, _ column: Int) throws(PostgresFault) -> String {
    String(decoding: try bytes(row, column, atMost: 1_024), as: UTF8.self)
  }

  func bytes32(_ row: Int, _ column: Int) throws(PostgresFault) -> Bytes32 {
    let bytes = try bytes(row, column, atMost: Bytes32.count)
    guard bytes.count == Bytes32.count else { throw PostgresFault.damaged }
    return Bytes32(exactly: bytes)
  }

  func identifier(_ row: Int, _ column: Int) throws(PostgresFault) -> Identifier {
    guard let value = Identifier(bytes: try bytes(row, column, atMost: Identifier.byteCount))
    else { throw PostgresFault.damaged }
    return value
  }
}

/// Why PostgreSQL did not do what was asked.
struct PostgresFault: Error {
  enum Kind: Equatable {
    /// There is no connection, or it was lost.
    case lost
    /// The server refused a statement with this SQLSTATE; the connection stays usable.
    case refused(state: String)
    /// A value that no relay wrote.
    case damaged
    /// A fault that waiting does not repair, as a ``RelayError``.
    case final(RelayError)
  }

  var kind: Kind
  var words: String
  /// Whether a commit had been requested, so that it may have taken place.
  var isCommitting = false

  static let damaged = PostgresFault(kind: .damaged, words: "a value that no relay wrote")

  /// Whether an immediate retry is safe, because nothing was committed.
  ///
  /// The cases are a serialization failure, a deadlock, a lock timeout, and a mailbox that two
  /// relays created at once.
  var mayRetry: Bool {
    guard !isCommitting else { return false }
    switch kind {
    case .lost: return true
    case .refused(let state):
      return ["40001", "40P01", "55P03", "23505", "57P01", "57P02", "25006"].contains(state)
    case .damaged, .final: return false
    }
  }

  /// The fault in words for the operator.
  func error(_ address: PostgresAddress) -> RelayError {
    if isCommitting {
      return RelayError(
        .unknownOutcome,
        "\(address) did not say whether it committed (\(words)): clients try again")
    }
    switch kind {
    case .lost:
      return RelayError(.unavailable, "\(address) cannot be reached: \(words)")
    case .refused(let state) where state.hasPrefix("53") || state.hasPrefix("58"):
      return RelayError(
        .diskFull, "\(address) has no space or memory left (\(state), \(words)): add some")
    case .refused("55P03"):
      return RelayError(.unavailable, "\(address) is busy with the same mailbox (\(words))")
    case .refused(let state):
      return RelayError(.inputOutput, "\(address) refused a statement (\(state), \(words))")
    case .damaged:
      return RelayError(
        .corrupt, "\(address) holds values that no relay wrote: run `hearth-relay verify`")
    case .final(let error): return error
    }
  }
}
