import HearthCRDT
import HearthStore
import HearthSync

/// What was promised to people, and what faults may have cost them.
struct Ledger {
  /// One write whose command returned success.
  struct Acknowledged {
    let device: Int
    let zone: ZoneID
    var dot: Dot
    let step: String
    /// Whether its segment has left the device.
    var isPublished = false
    /// Whether a fault took the only copy: the loss is owed to the fault.
    var isExempt = false
  }

  private(set) var acknowledged: [Acknowledged] = []
  /// How often a device failed to start in a row.
  var starts: [Int: Int] = [:]
  /// Devices whose clock was ever wrong.
  private(set) var wrongClocks: Set<Int> = []
  private(set) var refusals: [String: Int] = [:]
  private(set) var syncs = 0
  private(set) var failedSyncs = 0
  private(set) var received = 0
  private(set) var published = 0
  /// How far devices were that lost power while they wrote.
  private var attempts: [Int: Dot] = [:]

  mutating func acknowledged(_ written: Written, by device: Int, step: String) {
    acknowledged.append(
      Acknowledged(device: device, zone: written.zone, dot: written.version.dot, step: step))
    if wrongClocks.contains(device) { SimProbe.wrongClockWrote.hit() }
  }

  /// A write was cut off: it was told as failed and may be there all the same.
  mutating func attempted(on device: Int, after dot: Dot?) { attempts[device] = dot }

  /// Whether a write that was cut off is there.
  mutating func hasBecomeDurable(on device: Int, now: Dot?) -> Bool {
    guard let before = attempts.removeValue(forKey: device), let now else { return false }
    return before.author == now.author && before.sequence < now.sequence
  }

  mutating func note(clockOf device: Int) { wrongClocks.insert(device) }

  mutating func count(_ error: any Error) {
    refusals["\(type(of: error))", default: 0] += 1
    guard let store = error as? StoreError else { return }
    if store.code == .full { SimProbe.diskFull.hit() }
    if store.code == .io { SimProbe.diskFailed.hit() }
  }

  mutating func synced(_ report: Round) {
    syncs += 1
    received += report.received
    published += report.published
    if report.failure != nil { failedSyncs += 1 }
  }

  /// A segment left the device.
  mutating func published(_ author: Author, through sequence: UInt64, zone: ZoneID) {
    for place in acknowledged.indices
    where acknowledged[place].dot.author == author && acknowledged[place].zone == zone
      && acknowledged[place].dot.sequence <= sequence
    {
      acknowledged[place].isPublished = true
    }
  }

  /// Finds what was acknowledged and not given to anybody in a life that is over under the numbers
  /// of the next one, whose last changes it is, in its order.
  ///
  /// - Returns: whether the next life has as many changes.
  mutating func move(from life: Author, to next: Author, in zone: ZoneState) -> Bool {
    let places = acknowledged.indices.filter {
      acknowledged[$0].dot.author == life && acknowledged[$0].zone == zone.id
        && !acknowledged[$0].isExempt && !acknowledged[$0].isPublished
        && !zone.frontier.covers(acknowledged[$0].dot)
    }.sorted { acknowledged[$0].dot.sequence < acknowledged[$1].dot.sequence }
    let end = zone.frontier[next]
    guard UInt64(places.count) <= end else { return false }
    for (number, place) in places.enumerated() {
      acknowledged[place].dot = Dot(
        author: next, sequence: end - UInt64(places.count) + UInt64(number) + 1)
    }
    return true
  }

  /// Who still has something.
  enum Holder {
    case others, author, nobody
  }

  /// A relay lost what it held: what only its author has counts as not given away, and what nobody
  /// has is not owed any more.
  mutating func takeBack(_ holder: (Acknowledged) -> Holder) {
    for place in acknowledged.indices where acknowledged[place].isPublished {
      switch holder(acknowledged[place]) {
      case .others: break
      case .author: acknowledged[place].isPublished = false
      case .nobody: acknowledged[place].isExempt = true
      }
    }
  }

  /// A fault took what only this device had.
  mutating func exempt(device: Int) {
    for place in acknowledged.indices
    where acknowledged[place].device == device && !acknowledged[place].isPublished {
      acknowledged[place].isExempt = true
    }
  }

  /// Of two histories of one log the one that its device was put back from counts no more.
  mutating func exempt(_ author: Author, from sequence: UInt64, in zone: ZoneID) {
    for place in acknowledged.indices
    where acknowledged[place].zone == zone && acknowledged[place].dot.author == author
      && acknowledged[place].dot.sequence >= sequence
    {
      acknowledged[place].isExempt = true
    }
  }
}
