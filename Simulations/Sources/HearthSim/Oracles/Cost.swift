import HearthCRDT
import HearthSync

/// How much work one exchange does on a device, beside how many bytes it brought.
///
/// Counted, not timed, so that a seed says the same everywhere. Whoever sends few bytes may not
/// cause much work: neither at once nor in each exchange from then on.
struct Cost {
  private let fetchedBytes: Int

  /// Operations that any exchange may read, whatever it brings: what waits is read again.
  static let freeOperations = 4_000
  /// How often an exchange may read all that honest programs wrote, to build anew what it has.
  static let rebuilds = 2
  /// Operations that a byte may stand for.
  static let operationsPerByte = 2
  /// Bytes of records that any exchange may write.
  static let freeStateBytes = 1 << 20
  /// Bytes of records that a byte may let be written.
  static let stateBytesPerByte = 40

  /// Begins to count.
  init(before device: SimDevice) {
    fetchedBytes = device.folder.fetchedBytes + device.fetchedAtRelay
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
      let bytes = device.folder.fetchedBytes + device.fetchedAtRelay - fetchedBytes
      let (operations, stateBytes) = (Work.operations.count, Work.stateBytes.count)
      world.greatestCost.operations = max(world.greatestCost.operations, operations)
      world.greatestCost.stateBytes = max(world.greatestCost.stateBytes, stateBytes)
      guard
        operations <= Cost.freeOperations + Cost.operationsPerByte * bytes
          || operations <= Cost.freeOperations + Cost.operationsPerByte * bytes
            + Cost.rebuilds * world.checker.honestOperations,
        stateBytes <= Cost.freeStateBytes + Cost.stateBytesPerByte * bytes
      else {
        throw world.fail(
          .cost, device,
          "read \(operations) operations and wrote \(stateBytes) bytes of records for \(bytes) "
            + "bytes")
      }
    #endif
  }
}
