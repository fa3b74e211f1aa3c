import CPostgres
import Glibc

/// One statement with its parameters.
struct PostgresCall {
  let sql: String
  let values: [PostgresValue]
  /// Whether the statement is worth keeping prepared on the connection.
  let isPrepared: Bool

  init(_ sql: String, _ values: [PostgresValue] = [], isPrepared: Bool = true) {
    self.sql = sql
    self.values = values
    self.isPrepared = isPrepared
  }

  /// A statement that runs once.
  static func once(_ sql: String, _ values: [PostgresValue] = []) -> PostgresCall {
    PostgresCall(sql, values, isPrepared: false)
  }
}

/// One connection to PostgreSQL through libpq, in pipeline mode; not thread-safe.
///
/// Statements that belong together are sent together and cost one round trip. Nothing waits for
/// ever: an answer that takes longer than ``patienceMilliseconds`` ends the connection.
final class PostgresConnection {
  private let handle: OpaquePointer
  private let address: PostgresAddress
  private let warnings = Warnings()
  private var prepared: [String: String] = [:]
  private var named = 0
  /// Whether the connection can be used again.
  private(set) var isUsable = true
  /// Whether statements were begun whose end has not been received.
  private var isAnswerDue = false

  /// How long an answer may take while a relay serves.
  ///
  /// The server gives up sooner, so that its reason is received.
  static let answerMilliseconds = 30_000
  /// How long an answer to the operator may take, who may ask for everything.
  static let operatorMilliseconds = 3_600_000
  /// How long this connection waits for an answer.
  var patienceMilliseconds = answerMilliseconds

  /// Counts the server's warnings.
  ///
  /// A warning at a commit means a broken promise.
  private final class Warnings {
    var count = 0
  }

  /// Connects to the first writable host.
  init(_ address: PostgresAddress) throws(PostgresFault) {
    self.address = address
    let keywords = address.parameters.map { strdup($0.keyword) } + [nil]
    let values = address.parameters.map { strdup($0.value) } + [nil]
    defer { for text in keywords + values { free(text) } }
    let handle = PQconnectdbParams(
      keywords.map { UnsafePointer($0) }, values.map { UnsafePointer($0) }, 0)
    guard let handle else { throw PostgresFault(kind: .lost, words: "no memory is left") }
    guard PQstatus(handle) == CONNECTION_OK, PQsetnonblocking(handle, 1) == 0,
      PQenterPipelineMode(handle) == 1
    else {
      let words = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
      PQfinish(handle)
      throw PostgresFault(kind: .lost, words: address.redacted(words))
    }
    self.handle = handle
    PQsetNoticeReceiver(
      handle,
      { context, result in
        guard let context,
          PostgresConnection.field(result, UInt8(ascii: "C"))?.hasPrefix("01") == true
        else { return }
        Unmanaged<Warnings>.fromOpaque(context).takeUnretainedValue().count += 1
      }, Unmanaged.passUnretained(warnings).toOpaque())
  }

  deinit { PQfinish(handle) }

  /// The server's version, such as 150004.
  var serverVersion: Int { Int(PQserverVersion(handle)) }

  /// Runs statements in their order, sent together.
  ///
  /// The first that fails ends the rest.
  func run(_ calls: [PostgresCall]) throws(PostgresFault) -> [PostgresRows] {
    try pipeline(calls, isCommitting: false)
  }

  /// Runs statements and commits.
  ///
  /// A fault says whether the commit may have taken place.
  func commit(_ calls: [PostgresCall]) throws(PostgresFault) {
    warnings.count = 0
    // A timeout must not end a commit that waits for a standby: the server would then report
    // success for a commit that no standby has.
    let results = try pipeline(
      calls + [PostgresCall("SET LOCAL statement_timeout = 0"), PostgresCall("COMMIT")],
      isCommitting: true)
    guard results.last?.tag == "COMMIT" else {
      throw PostgresFault(kind: .refused(state: "40000"), words: "the transaction was rolled back")
    }
    guard warnings.count == 0 else {
      isUsable = false
      throw PostgresFault(
        kind: .lost, words: "the commit was not replicated as required", isCommitting: true)
    }
  }

  /// Ends a transaction that failed.
  func settle() {
    guard isUsable, !isAnswerDue, PQtransactionStatus(handle) != PQTRANS_IDLE else { return }
    do throws(PostgresFault) {
      _ = try run([PostgresCall("ROLLBACK")])
    } catch {
      isUsable = false
    }
  }

  // MARK: Transactions without waiting

  /// Sends unprepared statements, the last of them a commit.
  ///
  /// ``isFinished(within:)`` takes the answers and must be called before anything else is run.
  func begin(_ calls: [PostgresCall]) throws(PostgresFault) {
    guard isUsable, !isAnswerDue else {
      throw PostgresFault(kind: .lost, words: "the connection was closed")
    }
    warnings.count = 0
    for call in calls {
      guard send(call, name: nil) else { throw lost() }
    }
    guard PQpipelineSync(handle) == 1 else { throw lost() }
    isAnswerDue = true
  }

  /// Whether the begun statements are committed; true if none were begun.
  func isFinished(within milliseconds: Int) throws(PostgresFault) -> Bool {
    let deadline = ContinuousClock.now + .milliseconds(milliseconds)
    var silence = 0
    while isAnswerDue {
      guard PQflush(handle) >= 0 else { throw lost() }
      if PQisBusy(handle) != 0 {
        let left = ContinuousClock.now.duration(to: deadline)
        guard !PostgresConnection.poll([(PQsocket(handle), POLLIN)], for: left).isEmpty else {
          return false
        }
        guard PQconsumeInput(handle) == 1 else { throw lost() }
        continue
      }
      guard let result = PQgetResult(handle) else {
        // One nil separates the answers; more mean that no answer is left.
        silence += 1
        if silence > 2 || PQstatus(handle) == CONNECTION_BAD { throw lost() }
        continue
      }
      silence = 0
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK: break
      case PGRES_PIPELINE_SYNC: isAnswerDue = false
      default:
        isUsable = false
        throw PostgresFault(kind: .lost, words: fault(of: result).fault.words)
      }
    }
    guard warnings.count == 0 else {
      isUsable = false
      throw PostgresFault(kind: .lost, words: "the commit was not replicated as required")
    }
    return true
  }

  // MARK: Pipelines

  private enum Expected {
    case preparation(of: String, name: String)
    case rows
  }

  private func pipeline(_ calls: [PostgresCall], isCommitting: Bool) throws(PostgresFault)
    -> [PostgresRows]
  {
    guard isUsable else { throw PostgresFault(kind: .lost, words: "the connection was closed") }
    var expected: [Expected] = []
    var names: [String: String] = [:]
    for call in calls {
      var name: String?
      if call.isPrepared {
        name = prepared[call.sql] ?? names[call.sql]
        if name == nil {
          named += 1
          let new = "s\(named)"
          guard PQsendPrepare(handle, new, call.sql, 0, nil) == 1 else {
            throw lost(isUnsure: isCommitting)
          }
          expected.append(.preparation(of: call.sql, name: new))
          names[call.sql] = new
          name = new
        }
      }
      // Queued statements may have been sent, and the server runs them as they arrive.
      guard send(call, name: name) else { throw lost(isUnsure: isCommitting) }
      expected.append(.rows)
    }
    guard PQpipelineSync(handle) == 1 else { throw lost(isUnsure: isCommitting) }
    return try collect(expected, isCommitting: isCommitting)
  }

  private func send(_ call: PostgresCall, name: String?) -> Bool {
    let encoded = call.values.map(\.encoded)
    // All values share one memory block, which is never empty, so that every pointer is valid.
    var bytes: [UInt8] = []
    bytes.reserveCapacity(encoded.reduce(1) { $0 + ($1?.count ?? 0) })
    for value in encoded { bytes += value ?? [] }
    bytes.append(0)
    let lengths = encoded.map { Int32($0?.count ?? 0) }
    let formats = [Int32](repeating: 1, count: encoded.count)
    return bytes.withUnsafeBytes { buffer in
      var offset = 0
      let pointers = encoded.map { value -> UnsafePointer<CChar>? in
        defer { offset += value?.count ?? 0 }
        guard value != nil else { return nil }
        return buffer.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self)
      }
      let count = Int32(encoded.count)
      if let name {
        return PQsendQueryPrepared(handle, name, count, pointers, lengths, formats, 1) == 1
      }
      return PQsendQueryParams(handle, call.sql, count, nil, pointers, lengths, formats, 1) == 1
    }
  }

  private func collect(_ expected: [Expected], isCommitting: Bool) throws(PostgresFault)
    -> [PostgresRows]
  {
    let deadline = ContinuousClock.now + .milliseconds(patienceMilliseconds)
    var rows: [PostgresRows] = []
    var fault: PostgresFault?
    var place = 0
    var silence = 0
    while true {
      guard let result = try next(deadline, isUnsure: isCommitting && fault == nil) else {
        // One nil separates the answers; more mean that no answer is left.
        silence += 1
        if silence > 2 || PQstatus(handle) == CONNECTION_BAD {
          throw lost(isUnsure: isCommitting && fault == nil)
        }
        continue
      }
      silence = 0
      let status = PQresultStatus(result)
      if status == PGRES_PIPELINE_SYNC {
        PQclear(result)
        break
      }
      switch status {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
        let taken = PostgresRows(taking: result)
        guard place < expected.count else { throw lost(isUnsure: isCommitting) }
        switch expected[place] {
        case .preparation(let sql, let name): prepared[sql] = name
        case .rows: rows.append(taken)
        }
      case PGRES_PIPELINE_ABORTED: PQclear(result)
      default:
        let refusal = try refusal(taking: result, isUnsure: isCommitting && fault == nil)
        fault = fault ?? refusal
      }
      place += 1
    }
    if let fault { throw fault }
    return rows
  }

  /// Takes the result of a statement that failed, and returns the fault.
  ///
  /// - Throws: the fault, as that of a lost connection, if the server is gone.
  private func refusal(
    taking result: OpaquePointer, isUnsure: Bool
  ) throws(PostgresFault) -> PostgresFault {
    let (fault, isFatal) = fault(of: result)
    PQclear(result)
    guard PQstatus(handle) == CONNECTION_BAD || isFatal else { return fault }
    // After a fatal error the server is gone. What it did before is unknown.
    isUsable = false
    var gone = fault
    gone.kind = .lost
    gone.isCommitting = isUnsure
    throw gone
  }

  /// Waits for the next result; nil between the answers of two statements.
  private func next(
    _ deadline: ContinuousClock.Instant, isUnsure: Bool
  ) throws(PostgresFault) -> OpaquePointer? {
    while true {
      let flushed = PQflush(handle)
      guard flushed >= 0 else { throw lost(isUnsure: isUnsure) }
      if PQisBusy(handle) == 0 { return PQgetResult(handle) }
      let left = ContinuousClock.now.duration(to: deadline)
      let events = flushed == 1 ? POLLIN | POLLOUT : POLLIN
      let seen = PostgresConnection.poll([(PQsocket(handle), events)], for: left)
      guard !seen.isEmpty else {
        isUsable = false
        throw PostgresFault(
          kind: .lost, words: "the server did not answer in time", isCommitting: isUnsure)
      }
      guard PQconsumeInput(handle) == 1 else { throw lost(isUnsure: isUnsure) }
    }
  }

  private func lost(isUnsure: Bool = false) -> PostgresFault {
    isUsable = false
    let words = PQerrorMessage(handle).map { String(cString: $0) } ?? ""
    return PostgresFault(
      kind: .lost, words: address.redacted(words.isEmpty ? "the connection ended" : words),
      isCommitting: isUnsure)
  }

  private func fault(of result: OpaquePointer) -> (fault: PostgresFault, isFatal: Bool) {
    // Use the primary message only: details repeat values, and values must stay private.
    let words = PostgresConnection.field(result, UInt8(ascii: "M")) ?? "no reason was given"
    let state = PostgresConnection.field(result, UInt8(ascii: "C")) ?? ""
    let severity = PostgresConnection.field(result, UInt8(ascii: "V")) ?? "FATAL"
    return (
      PostgresFault(kind: .refused(state: state), words: address.redacted(words)),
      severity != "ERROR"
    )
  }

  private static func field(_ result: OpaquePointer?, _ code: UInt8) -> String? {
    PQresultErrorField(result, Int32(code)).map { String(cString: $0) }
  }

  // MARK: Notifications

  /// Waits, for a limited time, until the server sends something or a descriptor is readable.
  ///
  /// - Returns: whether the server sent something.
  func wait(or descriptor: Int32, milliseconds: Int) -> Bool {
    PostgresConnection.poll(
      [(PQsocket(handle), POLLIN), (descriptor, POLLIN)], for: .milliseconds(milliseconds)
    ).contains(0)
  }

  /// The payloads of the received notifications.
  func notifications() throws(PostgresFault) -> [String] {
    guard PQconsumeInput(handle) == 1 else { throw lost() }
    var found: [String] = []
    while let notification = PQnotifies(handle) {
      found.append(String(cString: notification.pointee.extra))
      PQfreemem(notification)
    }
    if PQstatus(handle) == CONNECTION_BAD { throw lost() }
    return found
  }

  /// Waits for events of descriptors.
  ///
  /// Returns the indices of the descriptors that have some.
  static func poll(
    _ descriptors: [(descriptor: Int32, events: Int32)], for duration: Duration
  ) -> [Int] {
    let (seconds, attoseconds) = duration.components
    let milliseconds = max(0, min(60_000, seconds * 1_000 + attoseconds / 1_000_000_000_000_000))
    var waiting = descriptors.map {
      pollfd(fd: $0.descriptor, events: Int16($0.events), revents: 0)
    }
    let deadline = ContinuousClock.now + .milliseconds(milliseconds)
    var left = Int32(milliseconds)
    while Glibc.poll(&waiting, nfds_t(waiting.count), left) < 0, errno == EINTR {
      left = Int32(
        max(0, min(60_000, ContinuousClock.now.duration(to: deadline) / .milliseconds(1))))
    }
    return waiting.indices.filter { waiting[$0].revents != 0 }
  }
}
