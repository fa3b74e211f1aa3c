import HearthStore
import HearthSync
import Household
import SimDisk
import Testing

/// A node's store on a simulated disk, with what it was told is safe.
private struct StoreLife {
  let disk: SimDisk
  /// Transactions whose commit returned.
  var acknowledged = 0
  /// Transactions that were tried.
  var attempted = 0

  static func open(_ disk: SimDisk) throws -> ReplicaStore {
    try ReplicaStore(
      path: disk.path(for: "hearth.sqlite"), schema: HouseholdSchema.all, vfs: SimDisk.vfsName)
  }

  private static func value(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 20 + number * 131 % 3000)
  }

  private static func bytes(_ number: Int) -> [UInt8] { Array("\(number)".utf8) }

  /// Commits transactions of two facts and a notice each until the first error.
  mutating func write(_ store: ReplicaStore, count: Int) throws {
    for _ in 0..<count {
      let number = acknowledged + 1
      attempted = max(attempted, number)
      try store.transaction {
        try store.facts.setBytes(of: "fact \(number)", to: StoreLife.value(number))
        try store.facts.setBytes(of: "last", to: StoreLife.bytes(number))
        try store.notices.add(
          Notice(kind: .fork, zone: nil, device: nil, text: "\(number)", milliseconds: 1))
      }
      acknowledged = number
    }
  }

  /// What is wrong with a store after a crash; nil if nothing is.
  func fault(in store: ReplicaStore) throws -> String? {
    let integrity = try store.integrity()
    guard integrity == ["ok"] else { return "integrity: \(integrity.prefix(2))" }
    let last =
      try store.facts.bytes(of: "last").flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
    if last < acknowledged { return "lost: \(last) of \(acknowledged)" }
    if last > attempted { return "invented: \(last) of \(attempted)" }
    let notices = try store.notices.all().count
    if notices != last { return "torn: \(notices) notices of \(last)" }
    for number in 0..<attempted {
      let expected = number < last ? StoreLife.value(number + 1) : nil
      if try store.facts.bytes(of: "fact \(number + 1)") != expected {
        return "fact \(number + 1) is wrong"
      }
    }
    return nil
  }

  /// As `fault`, a failing check included.
  func verdict(on store: ReplicaStore) -> String? {
    do {
      return try fault(in: store)
    } catch {
      return "cannot be read: \(error)"
    }
  }

  /// Takes up what the store holds, so that writing can go on.
  mutating func resume(_ store: ReplicaStore) throws {
    acknowledged = try store.notices.all().count
  }

  /// Opens, judges, writes some more and closes; what is wrong, or nil.
  mutating func checkAndGoOn() -> String? {
    do {
      let store = try StoreLife.open(disk)
      if let fault = try fault(in: store) { return fault }
      try resume(store)
      try write(store, count: 2)
      let fault = try fault(in: store)
      try store.close()
      return fault
    } catch {
      return "cannot be used: \(error)"
    }
  }
}

/// What a program does after an error of the disk.
private enum Aftermath: CaseIterable {
  case goesOn
  case reopens
  case isKilled
}

@Suite("A node's store on a failing disk", .serialized)
struct ReplicaStoreTests {
  private static let transactions = 6

  /// How many operations a whole undisturbed life takes.
  private func operations(_ profile: SimDisk.Profile) throws -> UInt64 {
    let disk = SimDisk(seed: 0, profile: profile)
    var life = StoreLife(disk: disk)
    let store = try StoreLife.open(disk)
    try life.write(store, count: ReplicaStoreTests.transactions)
    try store.close()
    return disk.operations
  }

  /// One life with faults armed; its error, if there was one.
  private func live(_ life: inout StoreLife) -> (any Error)? {
    do {
      let store = try StoreLife.open(life.disk)
      try life.write(store, count: ReplicaStoreTests.transactions)
      try store.close()
      return nil
    } catch {
      return error
    }
  }

  @Test(
    "keeps everything acknowledged through a cut at every operation, and again while recovering",
    arguments: SimDisk.Profile.allCases)
  func sweepOfCuts(profile: SimDisk.Profile) throws {
    let total = try operations(profile)
    #expect(total > 60)
    for operation in 1...total {
      for seed in 0..<2 as Range<UInt64> {
        let disk = SimDisk(seed: operation << 8 | seed, profile: profile)
        var life = StoreLife(disk: disk)
        disk.arm(.powerCut(atOperation: operation))
        _ = live(&life)
        #expect(disk.isDown, "operation \(operation)")
        disk.reboot()
        // The second cut falls on one of the first operations after the reboot.
        disk.arm(.powerCut(atOperation: disk.operations + 1 + (operation * 7 + seed * 3) % 13))
        if let store = try? StoreLife.open(disk) {
          let fault = life.verdict(on: store)
          #expect(disk.isDown || fault == nil, "operation \(operation), seed \(seed)")
          try? life.resume(store)
          try? life.write(store, count: 3)
        } else {
          #expect(disk.isDown, "operation \(operation), seed \(seed)")
        }
        disk.reboot()
        disk.disarm()
        let fault = life.checkAndGoOn()
        #expect(fault == nil, "operation \(operation), seed \(seed)")
      }
    }
  }

  @Test("keeps everything through the end of the process at every operation")
  func sweepOfKills() throws {
    for operation in 1...(try operations(.ordered)) {
      let disk = SimDisk(seed: operation)
      var life = StoreLife(disk: disk)
      disk.arm(.processKill(atOperation: operation))
      _ = live(&life)
      disk.reboot()
      #expect(life.checkAndGoOn() == nil, "operation \(operation)")
      disk.reboot()
      #expect(life.checkAndGoOn() == nil, "operation \(operation), after a cut")
    }
  }

  @Test("says that the disk is full, at whatever operation it fills up, and recovers")
  func sweepOfFullDisks() throws {
    var codes: [StoreError.Code: Int] = [:]
    for operation in 1...(try operations(.ordered)) {
      let disk = SimDisk(seed: operation)
      var life = StoreLife(disk: disk)
      disk.arm(.noSpace(atOperation: operation, count: 1000))
      if let error = live(&life) {
        codes[(error as? StoreError)?.code ?? .failed, default: 0] += 1
      }
      disk.disarm()
      #expect(life.checkAndGoOn() == nil, "operation \(operation)")
      disk.reboot()
      #expect(life.checkAndGoOn() == nil, "operation \(operation), after a cut")
    }
    #expect(codes[.full, default: 0] > 0)
    #expect(codes[.failed] == nil && codes[.corrupt] == nil, "\(codes)")
  }

  @Test("survives one failed write or read at every operation")
  func sweepOfErrors() throws {
    for operation in 1...(try operations(.ordered)) {
      for isRead in [false, true] {
        let disk = SimDisk(seed: operation)
        var life = StoreLife(disk: disk)
        if isRead {
          disk.arm(.readError(atRead: operation, count: 1))
        } else {
          disk.arm(.writeError(atOperation: operation, count: 1))
        }
        let error = live(&life) as? StoreError
        #expect(error?.code != .corrupt && error?.code != .failed, "operation \(operation)")
        disk.disarm()
        #expect(life.checkAndGoOn() == nil, "operation \(operation), read \(isRead)")
        disk.reboot()
        #expect(life.checkAndGoOn() == nil, "operation \(operation), read \(isRead), after a cut")
      }
    }
  }

  @Test(
    "loses nothing after a sync that failed once, whatever comes next",
    arguments: Aftermath.allCases)
  fileprivate func sweepOfFailedSyncs(aftermath: Aftermath) throws {
    for operation in 1...(try operations(.ordered)) {
      for seed in 0..<2 as Range<UInt64> {
        let disk = SimDisk(seed: operation << 8 | seed)
        var life = StoreLife(disk: disk)
        disk.arm(.syncError(atOperation: operation, count: 1))
        var store = try? StoreLife.open(disk)
        if let store { try? life.write(store, count: 3) }
        if aftermath == .isKilled {
          disk.killProcess()
          disk.reboot()
        }
        if aftermath != .goesOn || store == nil {
          try? store?.close()
          store = try? StoreLife.open(disk)
        }
        // The fault may strike here only.
        if let store {
          try life.resume(store)
          try? life.write(store, count: 3)
        }
        disk.disarm()
        disk.reboot()
        #expect(life.checkAndGoOn() == nil, "operation \(operation), seed \(seed)")
      }
    }
  }

  @Test("takes any path and refuses a VFS that is not there")
  func paths() throws {
    let disk = SimDisk(seed: 1)
    let name = "a b?c#d%41é&=.sqlite"
    let store = try ReplicaStore(path: disk.path(for: name), schema: [], vfs: SimDisk.vfsName)
    #expect(store.path == disk.path(for: name))
    #expect(disk.names.contains(name))
    try store.close()
    #expect(throws: StoreError(.failed, "")) {
      try ReplicaStore(path: disk.path(for: "x"), schema: [], vfs: "none")
    }
  }
}
