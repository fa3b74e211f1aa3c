import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync

/// The replicas of a node, and whose turn it is to work on them.
///
/// A process holds the node's lock, except while all of its calls wait for transports: then other
/// processes work on the same replicas. What they wrote is read anew before this one goes on. The
/// node's actor serialises all calls; it alone may use this.
final class NodeReplicas: ReplicaTurns {
  /// What is read of a node's files.
  struct Content {
    var engine: Engine<ReplicaStore>
    var profile: NodeProfile
  }

  /// How replicas are opened: at first, and again after another process has written.
  ///
  /// It is told whether the process that wrote last may have left a write-ahead log that is not on
  /// the disk.
  typealias Opening = (_ wasAbandoned: Bool) throws -> Content

  /// The replicas as they stand; folded for calls that work on them, not for those that only read.
  var engine: Engine<ReplicaStore>
  /// Whose they are.
  var profile: NodeProfile
  /// The files behind the engine, which a body that has the engine to itself may read too.
  private(set) var store: ReplicaStore
  /// The rollback guard, which is written before anything sealed leaves the node.
  let anchorFile: any AnchorFile
  let now: @Sendable () -> UInt64
  private let open: Opening
  private let lock: NodeLock?
  private let waitMilliseconds: Int
  /// How many calls work, and how many wait for something outside.
  private var workingCount = 0
  private var waitingCount = 0
  /// Whose turn it is to load a snapshot.
  private let loads = ExchangeGate()
  private var isHeld = true
  private var turnSize: TurnSize
  /// Whether somebody may wait for the end of a turn.
  private let isShared: Bool
  private var isClosed = false
  /// Whether another process may have written since the observers were notified.
  private var wasReadAnew = false
  /// The replicas at which the present task works.
  @TaskLocal private static var own: Set<ObjectIdentifier> = []

  /// Begins with the lock taken.
  ///
  /// - Parameters:
  ///   - lock: keeps other processes away; nil where no other process knows of the replicas.
  ///   - waitMilliseconds: how long to wait for the lock after a wait for a transport.
  ///   - isShared: whether somebody may wait for the end of a turn; else turns may be long.
  init(
    lock: NodeLock?, waitMilliseconds: Int = 5_000, isShared: Bool = true,
    anchorFile: any AnchorFile, now: @escaping @Sendable () -> UInt64, open: @escaping Opening
  ) throws {
    self.lock = lock
    self.isShared = isShared
    turnSize = TurnSize(isShared ? 256 * 1024 : NodeReplicas.unsharedBatchBytes)
    self.anchorFile = anchorFile
    self.now = now
    self.waitMilliseconds = waitMilliseconds
    self.open = open
    let content = try open(lock?.wasAbandoned ?? true)
    engine = content.engine
    profile = content.profile
    store = content.engine.store
  }

  /// Resolves who belongs to which group, unless that is known.
  ///
  /// Opening leaves it out, because the records can be read without it, and its cost grows with the
  /// control logs.
  ///
  /// - Throws: why the control logs cannot be read.
  func fold() throws {
    guard !engine.isFolded else { return }
    try engine.fold(knowing: store.projections.memberships)
    for zone in engine.zones where zone.kind == .control {
      store.projections.take(engine.membership(of: zone.group), of: zone.group)
    }
  }

  deinit {
    // Nobody is left to be told of a failure; the lock then says that it was not given back.
    try? close()
  }

  func turn<Result>(
    _ body: (inout Engine<ReplicaStore>) throws -> Result
  ) throws -> Result {
    try fold()
    return try body(&engine)
  }

  /// As much as may be pending in a zone: what belongs together comes together.
  private static let unsharedBatchBytes = WaitingRoom.maximumBytes

  /// How many bytes of segments a turn applies.
  var batchBytes: Int { turnSize.byteCount }

  func turn<Result>(
    applying byteCount: Int, _ body: (inout Engine<ReplicaStore>) throws -> Result
  ) throws -> Result {
    try fold()
    guard isShared else { return try body(&engine) }
    let began = DispatchTime.now().uptimeNanoseconds
    defer {
      let seconds = Double(DispatchTime.now().uptimeNanoseconds - began) / 1e9
      turnSize.note(byteCount, seconds: seconds)
    }
    return try body(&engine)
  }

  func aside<Result: Sendable>(
    _ work: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try Task.checkCancellation()
    return try await whileWaiting { try await Task.detached { try work() }.value }
  }

  func loading<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      try await whileWaiting { await loads.take() }
    } catch {
      loads.giveBack()
      throw error
    }
    defer { loads.giveBack() }
    return try await body()
  }

  // MARK: Work

  /// Runs a call that works on the replicas; it may call another one.
  ///
  /// - Throws: what the work throws; `locked` where another process holds the node for too long.
  func working<Result>(_ work: () throws -> Result) throws -> Result {
    try reading {
      try fold()
      return try work()
    }
  }

  /// Runs a call that asks for zones and records only, not for people; it may call another one.
  ///
  /// - Throws: what the call throws; `locked` where another process holds the node for too long.
  func reading<Result>(_ read: () throws -> Result) throws -> Result {
    guard !isOwn else { return try read() }
    try enter()
    defer { leave() }
    return try NodeReplicas.$own.withValue(owned, operation: read)
  }

  /// Runs a call that asks for zones and records only, and waits for another process however long
  /// that takes, without holding up other calls of this process.
  ///
  /// - Throws: what the call throws; `CancellationError` before it has begun.
  func readingPatiently<Result>(_ read: () throws -> Result) async throws -> Result {
    guard !isOwn else { return try read() }
    try await enterWaiting(isPatient: true)
    defer { leave() }
    return try reading(read)
  }

  /// Runs a call that works on the replicas and waits in between.
  ///
  /// It waits for its turn without holding up other calls of this process.
  ///
  /// - Parameters:
  ///   - isPatient: whether it waits for another process however long that takes.
  ///   - work: a closure of the node's actor. With a task-local value, another one could resume
  ///     elsewhere after it has waited.
  /// - Throws: what the work throws; `locked` where another process holds the node for too long.
  func working<Result>(
    isPatient: Bool = false, _ work: () async throws -> Result
  ) async throws -> Result {
    guard !isOwn else {
      try fold()
      return try await work()
    }
    try await enterWaiting(isPatient: isPatient)
    defer { leave() }
    try fold()
    return try await NodeReplicas.$own.withValue(owned, operation: work)
  }

  /// Waits for something outside, such as a transport, without holding up other work.
  ///
  /// Afterwards it waits for its turn however long that takes: whoever goes on with what it knew
  /// before could write over what another process has written.
  ///
  /// - Throws: what the wait throws; why the replicas cannot be read any more, and then they are
  ///   closed.
  func whileWaiting<Result>(_ wait: () async throws -> Result) async throws -> Result {
    // Outside of a call nobody says when it ends, so the lock stays.
    guard isOwn else { return try await wait() }
    workingCount -= 1
    waitingCount += 1
    letGo()
    let outcome: Swift.Result<Result, any Error>
    do {
      let others = NodeReplicas.own.subtracting([ObjectIdentifier(self)])
      outcome = .success(try await NodeReplicas.$own.withValue(others, operation: wait))
    } catch {
      outcome = .failure(error)
    }
    defer {
      waitingCount -= 1
      workingCount += 1
    }
    do {
      try await holdAgain(until: nil)
    } catch {
      try? close()
      throw error
    }
    guard !isClosed else { throw NodeReplicas.closed }
    return try outcome.get()
  }

  private var isOwn: Bool { NodeReplicas.own.contains(ObjectIdentifier(self)) }

  private var owned: Set<ObjectIdentifier> { NodeReplicas.own.union([ObjectIdentifier(self)]) }

  private func enter() throws {
    guard !isClosed else { throw NodeReplicas.closed }
    workingCount += 1
    do {
      try hold()
    } catch {
      workingCount -= 1
      throw error
    }
  }

  private func enterWaiting(isPatient: Bool) async throws {
    guard !isClosed else { throw NodeReplicas.closed }
    waitingCount += 1
    defer { waitingCount -= 1 }
    let end = DispatchTime.now().uptimeNanoseconds + UInt64(waitMilliseconds) * 1_000_000
    try await holdAgain(until: isPatient ? .max : end)
    guard !isClosed else { throw NodeReplicas.closed }
    workingCount += 1
  }

  private func leave() {
    workingCount -= 1
    letGo()
  }

  // MARK: The lock

  /// Takes the lock unless this process has it.
  private func hold() throws {
    guard !isHeld else { return }
    try lock?.take(waitMilliseconds: waitMilliseconds)
    try begin()
  }

  /// Takes the lock unless this process has it; other calls of this process go on meanwhile.
  ///
  /// - Parameter end: until when, for a call that has not begun; it may be cancelled too. Nil for
  ///   one that goes on, however long that takes: it has to leave the replicas as they should be.
  /// - Throws: `locked`, `CancellationError`, why the replicas cannot be read.
  private func holdAgain(until end: UInt64?) async throws {
    while !isClosed, !isHeld {
      guard let lock, try !lock.takeAtOnce() else { return try begin() }
      if let end {
        do {
          try Task.checkCancellation()
          guard DispatchTime.now().uptimeNanoseconds < end else { throw lock.busy }
        } catch {
          lock.leaveQueue()
          throw error
        }
      }
      await Task.detached { try? await Task.sleep(for: .milliseconds(1)) }.value
    }
  }

  /// Begins to work with the lock taken.
  private func begin() throws {
    do {
      try readAnew()
    } catch {
      // Nobody has taken the log over.
      lock?.giveBack(isSafe: false)
      throw error
    }
    isHeld = true
  }

  /// Gives the lock back where every call waits.
  private func letGo() {
    guard isHeld, workingCount == 0, waitingCount > 0 else { return }
    lock?.giveBack(isSafe: !store.hasUnsafeLog)
    isHeld = false
  }

  /// Opens the replicas again where another process has written.
  private func readAnew() throws {
    guard lock != nil, try store.wasChangedElsewhere else { return }
    let (former, wasFolded) = (store, engine.isFolded)
    let content = try open(lock?.wasAbandoned ?? true)
    engine = content.engine
    profile = content.profile
    store = content.engine.store
    wasReadAnew = true
    try former.close()
    // A call that waited goes on with it.
    if wasFolded { try fold() }
  }

  /// Returns what was written since the last call.
  func takeTouched() -> TouchedRecords {
    defer { wasReadAnew = false }
    let touched = store.records.takeTouched()
    return wasReadAnew ? TouchedRecords(everything: true) : touched
  }

  /// Ends the work; whatever is called afterwards, or waits now, fails.
  func close() throws {
    guard !isClosed else { return }
    isClosed = true
    var isSafe = false
    defer {
      lock?.giveBack(isSafe: isSafe)
      isHeld = false
    }
    let hadUnsafeLog = store.hasUnsafeLog
    try store.close()
    isSafe = !hadUnsafeLog
  }

  private static let closed = HearthError(.closed, "the node was closed")
}
