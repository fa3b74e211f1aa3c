import Foundation
import HearthCRDT
import HearthCrypto
import HearthStore
import HearthSync
import Testing

@testable import Hearth

private let firstMillisecond: @Sendable () -> UInt64 = { 1 }

/// Two processes of one node, and several calls in one of them.
@Suite("Turns with a node's replicas")
struct NodeReplicasTests {
  /// One node's folder, as several processes see it.
  private final class Home {
    let folder: NodeFolder
    let identity: DeviceIdentity
    var openings = 0
    /// Whether each opening was told that the process before ended without a word.
    var abandonments: [Bool] = []

    init() throws {
      let path = FileManager.default.temporaryDirectory
        .appendingPathComponent("hearth-turns-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      folder = NodeFolder(path)
      (identity, _) = try DeviceIdentity.generate()
    }

    deinit { try? FileManager.default.removeItem(at: folder.root) }

    /// What one process has; it begins with the lock.
    func process() throws -> NodeReplicas {
      let lock = try NodeLock(folder)
      try lock.take(waitMilliseconds: 0)
      return try NodeReplicas(
        lock: lock, waitMilliseconds: 0, anchorFile: DiskAnchorFile(path: folder.anchor),
        now: firstMillisecond
      ) { [unowned self] wasAbandoned in
        openings += 1
        abandonments.append(wasAbandoned)
        let engine = try Engine(
          store: ReplicaStore(path: folder.database, schema: []), identity: identity,
          incarnation: 1, policy: RolePolicy(), isFolded: false, nowMilliseconds: 1)
        return NodeReplicas.Content(
          engine: engine,
          profile: NodeProfile(personID: "", personName: "Anna", deviceName: "phone"))
      }
    }

    /// Looks whether another process could work now.
    func expect(free: Bool, at location: SourceLocation = #_sourceLocation) throws {
      let lock = try NodeLock(folder)
      var isFree = true
      do {
        try lock.take(waitMilliseconds: 0)
        lock.giveBack()
      } catch let error as HearthError where error.code == .locked {
        isFree = false
      }
      #expect(isFree == free, sourceLocation: location)
    }
  }

  private func write(_ name: String, _ replicas: NodeReplicas) throws {
    try replicas.store.transaction { try replicas.store.facts.setBytes(of: name, to: [1]) }
  }

  /// Why a call cannot work now; nil if it can.
  private func refusal(of replicas: NodeReplicas) -> HearthError.Code? {
    do {
      try replicas.working {}
      return nil
    } catch {
      return (error as? HearthError)?.code
    }
  }

  @Test("another process works while every call waits, and what it wrote is read anew")
  func waits() async throws {
    let home = try Home()
    let replicas = try home.process()
    try home.expect(free: false)
    try await replicas.working {
      try write("before", replicas)
      try await replicas.whileWaiting {
        try home.expect(free: true)
        let other = try home.process()
        try write("elsewhere", other)
        try other.close()
      }
      try home.expect(free: false)
      #expect(try replicas.store.facts.bytes(of: "elsewhere") == [1])
      #expect(home.openings == 3, "it opened its replicas again")
      #expect(replicas.engine.isFolded, "the call goes on with people")
      try await replicas.whileWaiting {}
      #expect(home.openings == 3, "nobody has written meanwhile")
    }
    try home.expect(free: false)
    try replicas.close()
    try home.expect(free: true)
  }

  @Test("whoever takes the lock learns whether it was given back, and by whom last")
  func abandoned() throws {
    let home = try Home()
    let first = try NodeLock(home.folder)
    try first.take(waitMilliseconds: 0)
    #expect(first.wasAbandoned, "of a new folder nothing is known")
    try first.take(waitMilliseconds: 0)
    first.giveBack()
    first.giveBack()
    let second = try NodeLock(home.folder)
    try second.take(waitMilliseconds: 0)
    #expect(!second.wasAbandoned)
    first.giveBack()
    #expect(try !first.takeAtOnce(), "whoever does not have it changes nothing")
    first.leaveQueue()
    second.giveBack(isSafe: false)
    #expect(try first.takeAtOnce())
    #expect(first.wasAbandoned, "the one before could not say that all is on the disk")
    first.giveBack()
    do {
      let ended = try NodeLock(home.folder)
      try ended.take(waitMilliseconds: 0)
      #expect(!ended.wasAbandoned)
    }
    try second.take(waitMilliseconds: 0)
    #expect(second.wasAbandoned, "the one before ended with the lock")
    second.giveBack()
  }

  @Test("replicas are opened as those of somebody who ended without a word, or not")
  func openings() throws {
    let home = try Home()
    try home.process().close()
    #expect(home.abandonments == [true])
    let replicas = try home.process()
    try replicas.close()
    #expect(home.abandonments == [true, false])
    // A program may end without closing its node.
    do { _ = try home.process() }
    try home.process().close()
    #expect(home.abandonments == [true, false, false, false])
  }

  @Test("a call within a call holds nobody up when it waits")
  func nested() async throws {
    let home = try Home()
    let replicas = try home.process()
    try await replicas.working {
      try await replicas.working {
        try await replicas.whileWaiting {
          try home.expect(free: true)
          // A call from outside comes while the first one waits.
          try await replicas.working {
            try home.expect(free: false)
            try await replicas.whileWaiting { try home.expect(free: true) }
            try home.expect(free: false)
          }
          try home.expect(free: true)
        }
        try home.expect(free: false)
      }
    }
    try replicas.close()
  }

  @Test("another process works while something is done aside")
  func aside() async throws {
    let home = try Home()
    let replicas = try home.process()
    let folder = home.folder
    try await replicas.working {
      let isFree = try await replicas.aside {
        let lock = try NodeLock(folder)
        try lock.take(waitMilliseconds: 0)
        lock.giveBack()
        return true
      }
      #expect(isFree)
      try home.expect(free: false)
      let loaded = try await replicas.loading { try await replicas.aside { 7 } }
      #expect(loaded == 7)
      try await replicas.loading {}
      try home.expect(free: false)
    }
    try replicas.close()
  }

  @Test("as long as one call works, the lock is not given back")
  func oneWorks() async throws {
    let home = try Home()
    let replicas = try home.process()
    try await replicas.working {
      try await replicas.whileWaiting {
        try replicas.working {
          try home.expect(free: false)
          try replicas.working { try home.expect(free: false) }
          try home.expect(free: false)
        }
        try home.expect(free: true)
      }
    }
    try replicas.close()
  }

  @Test("a call that finds another process at work says so")
  func locked() async throws {
    let home = try Home()
    let replicas = try home.process()
    try await replicas.working {
      try await replicas.whileWaiting {
        let other = try home.process()
        #expect(refusal(of: replicas) == .locked)
        try other.close()
        try replicas.working { try home.expect(free: false) }
      }
    }
    try replicas.close()
  }

  @Test("what a wait throws comes out with the lock held")
  func throwing() async throws {
    let home = try Home()
    let replicas = try home.process()
    try await replicas.working {
      await #expect(throws: CancellationError.self) {
        try await replicas.whileWaiting { throw CancellationError() }
      }
      try home.expect(free: false)
    }
    try replicas.close()
  }

  @Test("whoever waits while the node is closed fails, and writes nothing")
  func closed() async throws {
    let home = try Home()
    let replicas = try home.process()
    await #expect(throws: HearthError.self) {
      try await replicas.working {
        try await replicas.whileWaiting { try replicas.close() }
        Issue.record("it goes on with replicas that are closed")
      }
    }
    #expect(refusal(of: replicas) == .closed)
    #expect(throws: StoreError.self) { try replicas.store.facts.bytes(of: "kept") }
    try home.expect(free: true)
  }

  @Test("a patient call waits for another process")
  func patient() async throws {
    let home = try Home()
    let replicas = try home.process()
    try await replicas.working {
      try await replicas.whileWaiting {
        for isReading in [true, false] {
          nonisolated(unsafe) let other = try NodeLock(home.folder)
          try other.take(waitMilliseconds: 0)
          await #expect(throws: HearthError.self) {
            try await replicas.working { await Task.yield() }
          }
          DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(20)) {
            other.giveBack()
          }
          if isReading {
            try await replicas.readingPatiently { try home.expect(free: false) }
          } else {
            try await replicas.working(isPatient: true) {
              await Task.yield()
              try home.expect(free: false)
            }
          }
        }
      }
    }
    try replicas.close()
  }

  @Test("a patient call that is cancelled while another process works does not begin")
  func cancelled() async throws {
    let home = try Home()
    nonisolated(unsafe) let replicas = try home.process()
    try await replicas.working {
      try await replicas.whileWaiting {
        nonisolated(unsafe) let other = try NodeLock(home.folder)
        try other.take(waitMilliseconds: 0)
        // A call that waited in spite of its end would begin then.
        nonisolated(unsafe) let end = DispatchWorkItem { other.giveBack() }
        let call = Task {
          withUnsafeCurrentTask { $0?.cancel() }
          // Not before: the call may begin late on a crowded machine.
          DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(60), execute: end)
          try await replicas.working(isPatient: true) { _ = Issue.record("it begins") }
        }
        await #expect(throws: CancellationError.self) { try await call.value }
        end.cancel()
        other.giveBack()
      }
    }
    try replicas.close()
  }

  @Test("replicas in memory are gone when they are closed")
  func inMemory() throws {
    let (identity, _) = try DeviceIdentity.generate()
    func open() throws -> NodeReplicas {
      try NodeReplicas(
        lock: nil, anchorFile: DiskAnchorFile(path: "/nowhere"), now: firstMillisecond
      ) { _ in
        NodeReplicas.Content(
          engine: try Engine(
            store: ReplicaStore(path: ReplicaStore.inMemoryPath, schema: []), identity: identity,
            incarnation: 1, policy: RolePolicy(), nowMilliseconds: 1),
          profile: NodeProfile(personID: "", personName: "Anna", deviceName: "phone"))
      }
    }
    let first = try open()
    try write("kept", first)
    #expect(try first.store.facts.bytes(of: "kept") == [1])
    let second = try open()
    #expect(try second.store.facts.bytes(of: "kept") == nil)
    try first.close()
    try second.close()
  }
}
