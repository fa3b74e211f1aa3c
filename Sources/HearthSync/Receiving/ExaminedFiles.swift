import HearthCRDT
import HearthMembership

/// Which listed files of a zone were examined before, and would now be fetched in vain.
///
/// Each is judged by its whole name, before others that claim the same changes are left out in its
/// favour: a file that is not fetched must not keep another one from being fetched.
struct ExaminedFiles {
  private let refusals: Refusals
  private let withoutRoom: Set<Identifier>
  /// Whether there was more than is remembered.
  let isFull: Bool
  private let deviceByTag: [Identifier: DeviceID]
  private let kind: ZoneKind
  private let knowledge: [UInt8]

  /// - Parameters:
  ///   - crowded: The verified segments that were dropped.
  ///   - pending: The pending segments of the zone.
  ///   - knowledge: What decides about refused segments now.
  init(
    of zone: ZoneState, _ refusals: Refusals, _ crowded: RoomRefusals, pending: [PendingEntry],
    knowing knowledge: [UInt8]
  ) {
    self.refusals = refusals
    self.knowledge = knowledge
    withoutRoom = crowded.withoutRoom(
      whileWaiting: RoomRefusals.waitingBytes(of: pending, in: zone))
    isFull = refusals.isFull || crowded.isFull
    deviceByTag = zone.deviceByTag
    kind = zone.kind
  }

  /// The names that are not worth fetching now.
  func vain(among names: [SegmentName]) -> Set<SegmentName> {
    guard !refusals.isEmpty || !withoutRoom.isEmpty else { return [] }
    return Set(
      names.filter { name in
        withoutRoom.contains(name.digest)
          || refusals.isVain(
            name.digest, isKnown: deviceByTag[name.authorTag] != nil, in: kind, knowing: knowledge)
      })
  }

  /// Whether a segment was examined and not kept, for whatever reason.
  func remembers(_ name: SegmentName) -> Bool { refusals.contains(name.digest) }

  /// Whether a segment can never be used.
  func isForever(_ name: SegmentName) -> Bool { refusals.isForever(name.digest) }

  /// The names in the order in which they are fetched: first what known authors wrote, as it comes,
  /// then what strangers wrote, and last what was refused before.
  ///
  /// Of the last two only a part is fetched in one sync if it is of no use, and each has its turn.
  /// What known authors wrote may decide about strangers, who would be examined again after it.
  func inTurn(_ names: [SegmentName]) -> [SegmentName] {
    func rank(_ name: SegmentName) -> Int {
      remembers(name) ? 2 : deviceByTag[name.authorTag] == nil ? 1 : 0
    }
    let first = names.filter { rank($0) == 0 }
    let others = names.filter { rank($0) > 0 }
    guard !refusals.isEmpty else { return first + others }
    return first
      + others.sorted {
        let (left, right) = (rank($0), rank($1))
        return left != right ? left < right : refusals.isBefore($0.digest, $1.digest)
      }
  }
}
