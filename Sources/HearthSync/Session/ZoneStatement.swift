import HearthCRDT
import HearthMembership

/// What a device last said that a zone holds there.
package struct ZoneStatement: Equatable, Sendable {
  package let device: DeviceID
  /// The id of the operation.
  package let id: RecordID
  package let content: ControlOperation.ZoneDigest
}

extension Membership {
  /// The last statement of each device that belongs to the group about a zone, in order of device.
  package func zoneStatements(of zone: ZoneID) -> [ZoneStatement] {
    var last: [DeviceID: ZoneStatement] = [:]
    for said in said(.zoneDigest) where said.counts {
      let item = said.item
      guard case .zoneDigest(let content) = item.operation, content.zone == zone,
        isActive(item.device)
      else { continue }
      last[item.device] = ZoneStatement(device: item.device, id: item.id, content: content)
    }
    return last.values.sorted { $0.device < $1.device }
  }

  /// The ids of the operations that may decide what counts in zones of records, and what they say;
  /// nil where a log has two histories, as devices may hold different ones of them, and where there
  /// are operations that this program does not understand.
  ///
  /// Without what devices only tell of themselves: it changes nothing, but what the last
  /// incarnation of a device says may be here and not there. What an earlier one says stays in, as
  /// it tells what the later ones cannot have forgotten.
  ///
  /// - Parameter withContents: whether what they say is read too. O(n log n).
  package func decidingOperations(withContents: Bool) -> [UInt8]? {
    guard forks.ends.isEmpty, unknownOperations == 0 else { return nil }
    var newest: [DeviceID: UInt64] = [:]
    for item in items {
      newest[item.device] = max(newest[item.device] ?? 0, item.version.dot.author.incarnation)
    }
    let deciding = items.filter {
      !$0.operation.onlyTells || $0.version.dot.author.incarnation != newest[$0.device]
    }.sorted { $0.id < $1.id }
    var writer = ByteWriter(capacity: deciding.count * Identifier.byteCount)
    for item in deciding {
      writer.identifier(item.id)
      guard withContents else { continue }
      writer.author(item.version.dot.author)
      writer.varint(item.version.dot.sequence)
      writer.fixed64(item.version.time.rawValue)
      writer.frontier(item.cause)
      writer.blob(item.operation.encoded)
    }
    return writer.bytes
  }
}

extension ControlOperation {
  /// Whether it only tells how its author's device stands.
  fileprivate var onlyTells: Bool {
    switch self {
    case .heartbeat, .snapshotAttest, .zoneDigest: true
    default: false
    }
  }
}
