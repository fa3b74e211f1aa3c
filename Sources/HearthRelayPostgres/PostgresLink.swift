import CPostgres
import HearthCrypto
import HearthRelayCore
import Synchronization

/// The state of the database that all connections of one log share.
final class PostgresStanding: Sendable {
  private struct State {
    var isUp = true
    var failures = 0
    var notBefore: ContinuousClock.Instant?
    var incarnation: String?
    /// How often the database's incarnation changed.
    var life = 0
    var hear: (@Sendable (RelayTidings) -> Void)?
  }

  private let state = Mutex(State())

  /// The longest wait between two attempts to connect.
  static let maximumBackoffMilliseconds = 5_000

  var isUp: Bool { state.withLock { $0.isUp } }

  /// The number of the database's incarnation, as far as this relay has seen.
  var life: Int { state.withLock { $0.life } }

  /// Sets the receiver of notifications; nil for none.
  ///
  /// After this returns, only that receiver is called.
  func setHearer(_ hear: (@Sendable (RelayTidings) -> Void)?) {
    state.withLock { $0.hear = hear }
  }

  func tell(_ tidings: RelayTidings) {
    // Inside the lock, so that nothing is reported after a receiver was removed.
    state.withLock { $0.hear?(tidings) }
  }

  /// Whether an attempt to connect is permitted yet.
  var mayConnect: Bool {
    state.withLock { state in state.notBefore.map { ContinuousClock.now >= $0 } ?? true }
  }

  /// Records a new connection, and reports a changed incarnation.
  func connected(to incarnation: String?) {
    state.withLock { state in
      state.isUp = true
      state.failures = 0
      state.notBefore = nil
      if let old = state.incarnation, let incarnation, old != incarnation {
        state.life += 1
        state.hear?(.replaced)
      }
      state.incarnation = incarnation ?? state.incarnation
    }
  }

  /// Records an answer of the database.
  func answered() {
    state.withLock { $0.isUp = true }
  }

  /// Records the end of a connection.
  func lost() {
    state.withLock { $0.isUp = false }
  }

  /// Records a failed attempt to connect.
  ///
  /// - Returns: how many milliseconds to wait before the next attempt. The maximum doubles each
  ///   time. The wait is random, from zero to the maximum, so that many relays do not reconnect at
  ///   once.
  @discardableResult
  func failed() -> Int {
    let chance = Int(RandomBytes.make(2).reduce(0) { $0 << 8 | UInt32($1) })
    return state.withLock { state in
      state.isUp = false
      state.failures = min(state.failures + 1, 16)
      let most = min(PostgresStanding.maximumBackoffMilliseconds, 50 << state.failures)
      let wait = most / 4 + (most - most / 4) * chance / 65_536
      state.notBefore = ContinuousClock.now + .milliseconds(wait)
      return wait
    }
  }
}

/// A connection that is made on demand and again after a loss; confined to one thread.
final class PostgresLink {
  private let address: PostgresAddress
  private let standing: PostgresStanding
  private let isOperator: Bool
  private var connection: PostgresConnection?

  init(_ address: PostgresAddress, _ standing: PostgresStanding, isOperator: Bool) {
    self.address = address
    self.standing = standing
    self.isOperator = isOperator
  }

  /// Runs a body on a checked connection.
  func use<Value>(
    _ body: (PostgresConnection) throws(PostgresFault) -> Value
  ) throws(PostgresFault) -> Value {
    let connection = try present()
    do throws(PostgresFault) {
      return try body(connection)
    } catch {
      connection.settle()
      // A primary that became a standby refuses writes and stays connected.
      if !connection.isUsable || error.kind == .refused(state: "25006") {
        self.connection = nil
        standing.lost()
      }
      throw error
    }
  }

  private func present() throws(PostgresFault) -> PostgresConnection {
    if let connection { return connection }
    guard standing.mayConnect else {
      throw PostgresFault(kind: .lost, words: "it was unavailable just now and is tried again soon")
    }
    do throws(PostgresFault) {
      let made = try PostgresLink.connect(address)
      if isOperator {
        made.connection.patienceMilliseconds = PostgresConnection.operatorMilliseconds
        _ = try made.connection.run([
          .once("SELECT set_config('statement_timeout', '0', false)")
        ])
      }
      standing.connected(to: made.incarnation)
      connection = made.connection
      return made.connection
    } catch {
      standing.failed()
      throw error
    }
  }

  /// Connects, and ensures that what this server acknowledges is durable.
  static func connect(_ address: PostgresAddress) throws(PostgresFault) -> (
    connection: PostgresConnection, incarnation: String?
  ) {
    let connection = try PostgresConnection(address)
    try checkPromises(of: connection, address)
    _ = try connection.run([.once(settings)])
    for wish in wishes {
      // Distributed databases do not know some of these; they choose plans in another way.
      do throws(PostgresFault) { _ = try connection.run([.once(wish)]) } catch {
        if !connection.isUsable { throw error }
      }
    }
    return (connection, try incarnation(of: connection))
  }

  /// Timeouts on the server's side.
  ///
  /// The server ends a slow statement before the relay stops waiting for it. A relay that stalls in
  /// a transaction loses its locks.
  private static let settings = """
    SELECT set_config('statement_timeout', '15000', false),
      set_config('lock_timeout', '10000', false),
      set_config('idle_in_transaction_session_timeout', '5000', false)
    """

  /// Planner settings.
  ///
  /// Statements are few and have one good plan each, by their indexes.
  ///
  /// A database can do without the settings that it does not know.
  private static let wishes = [
    // The checked setting stays, whatever the server's settings become meanwhile.
    "SELECT set_config('synchronous_commit', current_setting('synchronous_commit'), false)",
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', false)",
    "SELECT set_config('enable_seqscan', 'off', false)",
    "SELECT set_config('enable_hashjoin', 'off', false)",
    "SELECT set_config('enable_mergejoin', 'off', false)",
    "SELECT set_config('jit', 'off', false)",
  ]

  private static func checkPromises(
    of connection: PostgresConnection, _ address: PostgresAddress
  ) throws(PostgresFault) {
    guard connection.serverVersion >= PostgresMigrations.minimumServerVersion else {
      throw PostgresFault(
        kind: .final(
          RelayError(
            .notDurable, "\(address) is older than PostgreSQL 13: use a newer server")), words: "")
    }
    let row = try connection.run([
      .once(
        """
        SELECT coalesce(current_setting('synchronous_commit', true), 'on'),
          coalesce(current_setting('fsync', true), 'on'),
          coalesce(current_setting('full_page_writes', true), 'on')
        """)
    ])[0]
    let commit = try row.text(0, 0)
    guard ["on", "remote_apply"].contains(commit) else {
      throw notDurable("synchronous_commit = \(commit)", "on", address)
    }
    for (column, name) in [(1, "fsync"), (2, "full_page_writes")] {
      let value = try row.text(0, column)
      guard value == "on" else { throw notDurable("\(name) = \(value)", "on", address) }
    }
  }

  private static func notDurable(
    _ setting: String, _ wanted: String, _ address: PostgresAddress
  ) -> PostgresFault {
    PostgresFault(
      kind: .final(
        RelayError(
          .notDurable,
          "\(address) has \(setting), so it may lose what it acknowledged: set it to \(wanted)"
            + " for the server, the database or the relay's role")), words: "")
  }

  /// Returns the incarnation of the cluster: a standby that takes over begins another timeline.
  private static func incarnation(of connection: PostgresConnection) throws(PostgresFault)
    -> String?
  {
    do throws(PostgresFault) {
      let row = try connection.run([
        .once(
          """
          SELECT (SELECT system_identifier FROM pg_control_system())::text || '/'
            || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
          """)
      ])[0]
      return try row.text(0, 0)
    } catch {
      // Unknown to a distributed database, which loses no commit when it moves.
      if !connection.isUsable { throw error }
      return nil
    }
  }
}
