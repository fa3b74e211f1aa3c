import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// How much work one exchange does on a device, beside how many bytes it brought.
///
/// Counted, not timed, so that a seed says the same everywhere. Whoever sends few bytes may not
/// cause much work: neither at once nor in each exchange from then on. Bytes that a device reads
/// again to see whether files are whole count too, so what returns in each exchange is found where
/// it is more than those bytes allow.
struct Cost {
  /// What is counted, or allowed.
  struct Amount {
    /// Operations read.
    var operations = 0
    /// Bytes of records written.
    var stateBytes = 0
    /// Decoded bytes in memory at once.
    var heldBytes = 0

    func isWithin(_ limit: Amount) -> Bool {
      operations <= limit.operations && stateBytes <= limit.stateBytes
        && heldBytes <= limit.heldBytes
    }

    /// The greater of each.
    mutating func raise(to other: Amount) {
      operations = max(operations, other.operations)
      stateBytes = max(stateBytes, other.stateBytes)
      heldBytes = max(heldBytes, other.heldBytes)
    }
  }

  private let fetchedBytes: Int
  private let members: [ZoneID: Frontier]
  private let waiting: [Identifier: PendingEntry]

  /// Operations that any exchange may read, whatever it brings: what waits is read again.
  static let freeOperations = 4_000
  /// How often an exchange may read all that honest programs wrote, to build anew what it has; and
  /// all that it holds of others, where it did so as the members changed, or an old state was put
  /// back.
  static let rebuilds = 2
  /// Operations that a byte may stand for: two, and each is read once more when what it waits for
  /// has come.
  static let operationsPerByte = 4
  /// Bytes of records that any exchange may write.
  static let freeStateBytes = 1 << 20
  /// Bytes of records that a byte may let be written.
  static let stateBytesPerByte = 40
  /// Decoded bytes that any exchange may hold at once: a proof opens a stored segment again, and a
  /// log goes on with the segment of which only a part counted.
  static let freeHeldBytes = 2 << 20
  /// Decoded bytes that a byte may stand for at once.
  ///
  /// A sealed file has a byte for each unit of work, and one for 16 bytes of its body. A field of
  /// an event is one unit and takes at most 32 bytes, its text 16 more; all else takes less.
  static let heldBytesPerByte = 48

  /// Begins to count.
  init(before device: SimDevice, in world: World) {
    fetchedBytes = device.folder.fetchedBytes + device.fetchedAtRelay
    members = Cost.members(on: device)
    waiting = world.hasHostile ? Cost.waiting(on: device) : [:]
    #if HEARTH_SIMULATION
      Work.reset()
    #endif
  }

  /// Compares what was done with what came.
  ///
  /// Only where a member has a changed program: honest ones write many small things, and an
  /// exchange may have to build anew what it has. A healed world is no exception. Every exchange
  /// reads all files of a folder again there, so the check is narrow for devices on a relay only.
  func check(after device: SimDevice, in world: World) throws {
    #if HEARTH_SIMULATION
      guard world.hasHostile else { return }
      // What waited stayed closed: its bytes count where it is opened.
      let still = Cost.waiting(on: device)
      let bytes =
        device.folder.fetchedBytes + device.fetchedAtRelay - fetchedBytes
        + waiting.values.reduce(0) { $0 + (still[$1.digest] == $1 ? 0 : $1.byteCount) }
      let done = Amount(
        operations: Work.operations.count, stateBytes: Work.stateBytes.count,
        heldBytes: Work.mostHeldBytes)
      world.greatestCost.raise(to: done)
      let limit = Amount(
        operations: Cost.freeOperations + Cost.operationsPerByte * bytes,
        stateBytes: Cost.freeStateBytes + Cost.stateBytesPerByte * bytes,
        heldBytes: Cost.freeHeldBytes + Cost.heldBytesPerByte * bytes)
      // What may be built anew is counted only where it matters.
      guard
        done.isWithin(limit)
          || done.isWithin(limit.raised(byRebuilding: rebuilt(by: device, in: world)))
      else {
        throw world.fail(
          .cost, device,
          "read \(done.operations) operations, wrote \(done.stateBytes) bytes of records and held "
            + "\(done.heldBytes) decoded bytes at once for \(bytes) bytes")
      }
    #endif
  }

  /// The segments that wait in the household's zone, by digest.
  private static func waiting(on device: SimDevice) -> [Identifier: PendingEntry] {
    guard let home = device.home,
      let entries = try? device.running?.engine.store.pending.entries(in: home)
    else { return [:] }
    return Dictionary(
      entries.map { ($0.digest, $0) }, uniquingKeysWith: { first, _ in first })
  }

  private static func members(on device: SimDevice) -> [ZoneID: Frontier] {
    let zones = device.running?.engine.zones.filter { $0.kind == .control } ?? []
    return Dictionary(uniqueKeysWithValues: zones.map { ($0.id, $0.frontier) })
  }

  #if HEARTH_SIMULATION
    /// What the device may read where it builds its records anew: what honest programs wrote, and
    /// of hostile members what it has.
    ///
    /// In a healed world a base that was contradicted is replaced, whatever the members are.
    private func rebuilt(by device: SimDevice, in world: World) -> [Change] {
      let honest = Array(world.checker.changes.values)
      let isDue =
        Work.rebuilds.count > 0 && (world.isHealed || Cost.members(on: device) != members)
        || world.putBackUnnoticed.contains(device.index)
      guard isDue, let home = device.home, let zone = try? device.engine().zone(home) else {
        return honest
      }
      return honest + world.hostileChanges.values.filter { zone.frontier.covers($0.dot) }
    }
  #endif
}

#if HEARTH_SIMULATION
  extension Cost.Amount {
    /// The amount and what it takes to build records anew from these changes.
    ///
    /// Their bytes are written only where that was done.
    fileprivate func raised(byRebuilding changes: [Change]) -> Cost.Amount {
      let heldBytes = Cost.rebuilds * changes.reduce(0) { $0 + $1.heldBytes }
      return Cost.Amount(
        operations: operations + Cost.rebuilds * changes.reduce(0) { $0 + $1.operations.count },
        stateBytes: stateBytes + (Work.rebuilds.count > 0 ? heldBytes : 0),
        heldBytes: self.heldBytes + heldBytes)
    }
  }
#endif
