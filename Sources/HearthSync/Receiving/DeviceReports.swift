import HearthCRDT
import HearthMembership

/// The last report of each device about the changes that it has, apart from the control log.
///
/// A heartbeat decides nothing, and one that cites nothing new does not show either what its author
/// had seen of others' operations. Everybody resolves the whole control log at each start, so such
/// heartbeats are no operations of it: of each device only the last is kept (decision 0084).
package struct DeviceReports: Equatable, Sendable {
  private struct Report: Equatable {
    let version: Version
    let frontiers: [ControlOperation.ZoneFrontier]
  }

  private var reports: [DeviceID: Report] = [:]

  /// The longest report that is kept; a longer one is ignored.
  ///
  /// A household's reports have a kilobyte. All of them are read at once.
  private static let maximumBytes = 16 * 1_024

  /// No reports.
  package init() {}

  var isEmpty: Bool { reports.isEmpty }

  /// The bytes of the heartbeat in a change of a control zone that is only a report; nil for any
  /// other change.
  ///
  /// The first change of an author is an operation: records of authors without one have no effect.
  static func heartbeat(in change: Change) -> [UInt8]? {
    guard change.seen.isEmpty, change.dot.sequence > 1, change.operations.count == 1,
      change.operations[0].key.type == ControlOperation.type,
      case .event(let fields) = change.operations[0].body, fields.count == 1,
      fields[0].field == ControlOperation.bodyField, case .bytes(let body) = fields[0].value,
      body.first == ControlOperation.Kind.heartbeat.rawValue
    else { return nil }
    return body
  }

  /// Notes a heartbeat; the last one of a device counts.
  mutating func note(_ heartbeat: [UInt8], by version: Version) {
    guard heartbeat.count <= DeviceReports.maximumBytes,
      case .heartbeat(let frontiers)? = try? ControlOperation(decoding: heartbeat)
    else { return }
    note(Report(version: version, frontiers: frontiers))
  }

  private mutating func note(_ report: Report) {
    let device = report.version.dot.author.device
    if let known = reports[device], known.version >= report.version { return }
    reports[device] = report
  }

  /// Notes all reports of others.
  mutating func note(_ other: DeviceReports) {
    for report in other.reports.values { note(report) }
  }

  /// The frontiers of zones that a device reported last, in a heartbeat that is an operation or in
  /// one that is not; none if it does not belong to the group.
  package func frontiers(
    of device: DeviceID, in membership: Membership
  ) -> [ControlOperation.ZoneFrontier] {
    guard membership.isActive(device) else { return [] }
    let heard = membership.lastHeard(of: device)
    guard let report = reports[device], report.version.time > heard?.time ?? HybridTime(rawValue: 0)
    else { return heard?.frontiers ?? [] }
    return report.frontiers
  }
}

// MARK: - In the store

extension DeviceReports {
  /// The reports in a control zone.
  package static func stored(of control: ZoneID, in store: some Store) throws -> DeviceReports {
    try store.facts.value(of: fact(of: control)) ?? DeviceReports()
  }

  /// Adds reports to those in the store.
  static func keep(_ reports: DeviceReports, of control: ZoneID, in store: some Store) throws {
    guard !reports.isEmpty else { return }
    var all = try stored(of: control, in: store)
    all.note(reports)
    try store.facts.set(fact(of: control), to: all)
  }

  /// A count, then each device's report in order of device: its change and time, and its bytes.
  private static func fact(of control: ZoneID) -> Fact<DeviceReports> {
    Fact("reports.\(control.hex)") { all, writer in
      writer.varint(all.reports.count)
      for (_, report) in all.reports.sorted(by: { $0.key < $1.key }) {
        writer.author(report.version.dot.author)
        writer.varint(report.version.dot.sequence)
        writer.fixed64(report.version.time.rawValue)
        writer.blob(ControlOperation.heartbeat(report.frontiers).encoded)
      }
    } read: { reader in
      var all = DeviceReports()
      for _ in 0..<(try reader.count("reports", itemBytes: 34, atMost: Limits.maximumAuthors)) {
        let author = try reader.author("reporting device")
        let sequence = try reader.varint("number of a report")
        let time = HybridTime(rawValue: try reader.fixed64("time of a report"))
        let bytes = try reader.blob("report", atMost: DeviceReports.maximumBytes)
        guard case .heartbeat(let frontiers) = try ControlOperation(decoding: bytes) else {
          throw CodecError(.unknown, "report", offset: reader.offset)
        }
        let version = Version(dot: Dot(author: author, sequence: sequence), time: time)
        all.note(Report(version: version, frontiers: frontiers))
      }
      return all
    }.asCache
  }
}
