import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync

/// How much work one exchange does on a device, beside how many bytes it brought.
///
/// Counted, not timed, so that a seed says the same everywhere. Whoever sends few bytes may not
/// cause much work: neither at once nor in each exchange from then on.
struct Cost {
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
  /// exchange may have to build anew what it has.
  func check(after device: SimDevice, in world: World) throws {
    #if HEARTH_SIMULATION
      guard !world.isHealed, world.hasHostile else { return }
      // What waited stayed closed: its bytes count where it is opened.
      let still = Cost.waiting(on: device)
      let bytes =
        device.folder.fetchedBytes + device.fetchedAtRelay - fetchedBytes
        + waiting.values.reduce(0) { $0 + (still[$1.digest] == $1 ? 0 : $1.byteCount) }
      let (operations, stateBytes) = (Work.operations.count, Work.stateBytes.count)
      world.greatestCost.operations = max(world.greatestCost.operations, operations)
      world.greatestCost.stateBytes = max(world.greatestCost.stateBytes, stateBytes)
      guard
        operations <= Cost.freeOperations + Cost.operationsPerByte * bytes
          || operations <= Cost.freeOperations + Cost.operationsPerByte * bytes
            + Cost.rebuilds
            * (world.checker.honestOperations
              + rebuilt(by: device, Work.rebuilds.count, in: world)),
        stateBytes <= Cost.freeStateBytes + Cost.stateBytesPerByte * bytes
      else {
        throw world.fail(
          .cost, device,
          "read \(operations) operations and wrote \(stateBytes) bytes of records for \(bytes) "
            + "bytes")
      }
    #endif
  }

  /// The segments that wait in the household's zone, by digest.
  private static func waiting(on device: SimDevice) -> [Identifier: PendingEntry] {
    guard let home = device.home,
      let entries = try? device.running?.engine.store.pendingEntries(in: home)
    else { return [:] }
    return Dictionary(
      entries.map { ($0.digest, $0) }, uniquingKeysWith: { first, _ in first })
  }

  private static func members(on device: SimDevice) -> [ZoneID: Frontier] {
    let zones = device.running?.engine.zones.filter { $0.kind == .control } ?? []
    return Dictionary(uniqueKeysWithValues: zones.map { ($0.id, $0.frontier) })
  }

  /// How many operations of hostile members the device has to read where it builds its records
  /// anew.
  private func rebuilt(by device: SimDevice, _ rebuilds: Int, in world: World) -> Int {
    let isDue =
      rebuilds > 0 && Cost.members(on: device) != members
      || world.putBackUnnoticed.contains(device.index)
    guard isDue, let home = device.home, let zone = try? device.engine().zone(home) else {
      return 0
    }
    return world.hostileChanges.values.reduce(0) {
      $0 + (zone.frontier.covers($1.dot) ? $1.operations.count : 0)
    }
  }
}
