import HearthCRDT
import HearthCrypto
import HearthMembership

/// The end of the own logs that opening a replica has to read again.
///
/// Own changes are committed without their head, except after each interval of them.
enum OwnTail {
  /// Moves own heads over the last own changes, which were committed without saving their head.
  static func catchUpOwnHead(at place: Int, in engine: inout Engine<some Store>) throws {
    if Mutant.forgetsOwnTail.isActive { return }
    for author in engine.zones[place].heads.map(\.author) + [engine.author]
    where author.device == engine.device {
      var head = engine.zones[place].head(of: author)
      var found = true
      while found {
        found = false
        let encoded = try engine.store.log.changes(
          of: author, in: engine.zones[place].id, after: head.sequence, limit: headInterval)
        for bytes in encoded {
          let change = try stored(bytes, in: engine.zones[place])
          try head.advance(over: change, hash: engine.zones[place].chainHash(of: bytes))
          found = true
          Probe.ownHeadCaughtUp.hit()
        }
      }
      if head.sequence > 0 { engine.zones[place].set(head) }
    }
  }

  /// An own change from the store.
  static func stored(_ bytes: [UInt8], in zone: ZoneState) throws -> Change {
    do {
      return try Change(decoding: bytes)
    } catch {
      throw SyncError(
        .corrupt,
        "an own change of zone \(zone.name) in this node's database is damaged (\(error)): keep a "
          + "copy of the home folder, then join again", cause: error)
    }
  }

  /// The most own changes after a saved head, which opening has to read again.
  ///
  /// Simulations use a small number, so that short runs reach it.
  static var headInterval: Int {
    #if HEARTH_SIMULATION
      16
    #else
      256
    #endif
  }

  /// The size of a change from which on the head is saved with it.
  ///
  /// What opening reads again thus stays below ``headInterval`` times this size.
  static var headBytes: Int { 4 * 1024 }
}
