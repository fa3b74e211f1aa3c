import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// Prints the digests that two devices compare to check that their data is equal.
struct DigestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "digest", abstract: "Show each zone's digest: equal if the data is equal.",
    discussion: "Devices that have the same changes of a household show the same 64 digits.")

  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    struct Author: Encodable {
      let device: String
      let life: Int
      let changes: UInt64
    }
    struct Item: Encodable {
      let name: String
      let database: String
      let kind: String
      let zone: String
      let digest: String
      let frontier: [Author]
    }
    let zones: [Item]
  }

  func run() async throws {
    let node = try await options.open()
    var items: [Document.Item] = []
    for status in try await node.diagnostics.zones() {
      let zone = status.zone
      items.append(
        Document.Item(
          name: zone.kind == .control ? "members" : zone.name, database: zone.database.name,
          kind: zone.kind == .control ? "control" : "data", zone: zone.id.hex,
          digest: HexText.of(try await node.digest(of: zone.id)),
          frontier: zone.frontier.entries.map {
            Document.Author(
              device: $0.author.device.hex, life: $0.author.life, changes: $0.sequence)
          }))
    }
    try await node.close()
    if options.json { return try Output.json(Document(zones: items)) }
    for item in items {
      let words = item.frontier.map { author in
        let life = author.life > 1 ? " incarnation \(author.life)" : ""
        return "\(author.device.prefix(8))\(life): \(author.changes)"
      }
      Output.print("\(item.digest)  \(item.database) \(Style.safe(item.name))")
      Output.print("  changes by device \(words.isEmpty ? "none" : words.joined(separator: ", "))")
    }
  }
}

/// Checks all data of the node.
struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Check all data of this node.",
    discussion: """
      Opens every stored segment again, follows each device's hash chain to its end, compares the
      records with the log and the derived tables with a rebuild, and checks the database file.
      Changes nothing, except with --repair: this rebuilds damaged indexes, records and derived
      tables from the log, if the log is sound. Exit code 7 if anything is wrong, after the repair
      if there was one.
      """)

  @OptionGroup var options: CommonOptions
  @Flag(help: "Rebuild damaged data that follows from a sound log.") var repair = false

  private struct Document: Encodable {
    struct Item: Encodable {
      let name: String
      let zone: String
      let segments: Int
      let changes: Int
      let pending: Int
      let digest: String
      let faults: [String]
    }
    let isSound: Bool
    let fileFaults: [String]
    let zones: [Item]
  }

  func run() async throws {
    let node = try await options.open()
    let result = try await repair ? node.integrity.repair() : node.integrity.verify()
    try await node.close()
    let document = Document(
      isSound: result.isSound, fileFaults: result.fileFaults,
      zones: result.zones.map {
        Document.Item(
          name: CheckText.name($0.zone), zone: $0.zone.id.hex, segments: $0.segments,
          changes: $0.changes, pending: $0.pending, digest: HexText.of($0.digest ?? []),
          faults: $0.faults)
      })
    if options.json {
      try Output.json(document)
    } else {
      for zone in document.zones {
        let verdict = zone.faults.isEmpty ? Style.green("sound") : Style.red("damaged")
        let pending = zone.pending == 0 ? "" : ", \(Words.count(zone.pending, "segment")) waiting"
        Output.print(
          "\(Style.safe(zone.name)): \(verdict), \(Words.count(zone.changes, "change")) in "
            + "\(Words.count(zone.segments, "segment"))\(pending)")
        if !zone.digest.isEmpty { Output.print("  digest \(zone.digest)") }
        for fault in zone.faults { Output.print("  " + Style.red(Style.safe(fault))) }
      }
      for fault in document.fileFaults { Output.print(Style.red("database file: \(fault)")) }
      if !document.isSound {
        let home = try options.homePath
        let next = repair ? "then join again" : "then try `hearth verify --repair`"
        Output.note(
          "hint: keep a copy of \(home), \(next); the other devices still have all "
            + "synced changes")
      }
    }
    if !result.isSound { throw ExitCode(ExitStatus.corrupt.rawValue) }
  }
}

/// Bytes as lower-case hexadecimal digits.
enum HexText {
  static func of(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    var text = ""
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return text
  }
}

/// Text that the checking commands share.
enum CheckText {
  /// The displayed name of a zone.
  static func name(_ zone: ZoneState) -> String {
    zone.kind == .control ? "\(zone.database.name) members" : "\(zone.database.name) \(zone.name)"
  }
}
