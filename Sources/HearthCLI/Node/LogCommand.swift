import ArgumentParser
import Hearth
import HearthCRDT
import HearthSync

/// Shows the node's notices, and how far each device's log is known.
struct LogCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Show recent notices and how far each device's changes are known."
  )

  @Option(help: "How many notices at most; by default the setting page-size.")
  var limit: Int?

  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    struct Head: Encodable {
      let zone: String
      let person: String
      let device: String
      let deviceId: String
      let life: Int
      let changes: UInt64
      let last: String
    }
    let notices: [NoticeText.Document]
    let logs: [Head]
    let withheld: [StandingText.Document.Withheld]
  }

  func run() async throws {
    guard limit ?? 0 >= 0 else { throw CommandFailure(.usage, "--limit must be 0 or more") }
    let node = try await options.open()
    let settings = try await SettingValues.load([.pageSize], of: node, household: nil)
    let notices = try await node.notices().suffix(limit ?? settings.pageSize)
    let moment = try await MomentText.of(node)
    var logs: [(zone: String, log: AuthorLog)] = []
    var withheld: [(item: StandingText.Document.Withheld, kinds: [String])] = []
    for zone in await node.dataZones() {
      let kinds = try await node.transports.list(of: zone.group).map(\.kind.rawValue)
      withheld += try await StandingText.withheld(of: zone, on: node).map { ($0, kinds) }
      for log in try await node.diagnostics.authorLogs(of: zone.id) {
        logs.append((zone.name, log))
      }
    }
    try await node.close()
    if options.json {
      return try Output.json(
        Document(
          notices: notices.map(NoticeText.Document.init),
          logs: logs.map { zone, log in
            Document.Head(
              zone: zone, person: log.personName, device: log.deviceName,
              deviceId: log.author.device.hex, life: log.author.life, changes: log.changes,
              last: MomentText.iso(log.lastMilliseconds))
          }, withheld: withheld.map(\.item)))
    }
    for notice in notices { Output.print(NoticeText.line(notice, moment)) }
    for (item, kinds) in withheld {
      Output.print(Style.yellow(StandingText.line(item, kinds: kinds)))
    }
    let rows = logs.map { zone, log in
      [
        zone, log.personName, log.deviceName, "\(log.author)", "\(log.changes)",
        moment.text(log.lastMilliseconds),
      ]
    }
    Output.print(
      Table(
        headers: ["ZONE", "PERSON", "DEVICE", "LOG", "CHANGES", "LAST"], rows: rows,
        rightAligned: [4]
      ).text)
  }
}
