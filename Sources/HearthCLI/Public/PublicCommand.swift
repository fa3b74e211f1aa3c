import ArgumentParser
import Hearth
import HearthRelayProtocol
import HearthSync

/// `hearth public`.
struct PublicCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "public", abstract: "Follow and publish catalogues that everybody may read.",
    discussion: """
      A catalogue contains challenges, chore templates and feature flags, signed by its publisher.
      If you follow one, you trust that publisher's key and nothing else: no relay and no folder.
      Its copy here also works offline; `hearth sync` checks for newer versions.

      Examples:
        hearth public follow hearth-catalogue://relay.example.org:7440/0k3f.../9d2m.../hearth
        hearth public list --type challenge --where category=calm --where minutes=..20
        hearth public get challenge/bench-test
        hearth add --template chore-template/take-out-the-bins
      """,
    subcommands: [
      PublicFollow.self, PublicUnfollow.self, PublicList.self, PublicGet.self, PublicStatus.self,
      PublicPublish.self, PublisherCommand.self,
    ])
}

/// `hearth public follow`.
struct PublicFollow: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "follow", abstract: "Trust a catalogue's publisher and fetch it.",
    discussion: "If the relay cannot be reached, a later `hearth sync` fetches it.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The catalogue's address.") var address: String
  @Option(
    help: "The folder that contains it, if the address names no relay.", completion: .directory)
  var folder: String?

  func run() async throws {
    let node = try await common.open()
    let result = try await node.catalogues.follow(address, folder: folder)
    try await node.close()
    if common.json {
      try Output.json(PublicText.Followed(result.kept))
    } else {
      let catalogue = result.kept.address.catalogue
      let what =
        result.kept.head.map { "version \($0.version), \(Words.count($0.count, "record"))" }
        ?? "not fetched yet"
      Output.print("following \(catalogue.name) of \(catalogue.fingerprint): \(what)")
    }
    guard let problem = result.problem else { return }
    Output.note("hearth: warning: \(Style.safe(problem))")
    throw ExitCode(ExitStatus.offline.rawValue)
  }
}

/// `hearth public unfollow`.
struct PublicUnfollow: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unfollow", abstract: "Stop following a catalogue, and delete its copy.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "Its name, its address or the publisher's fingerprint.") var name: String

  func run() async throws {
    let node = try await common.open()
    let kept = try await node.catalogues.unfollow(name)
    try await node.close()
    if common.json { return try Output.json(PublicText.Followed(kept)) }
    Output.print("\(kept.address.catalogue.name) is no longer followed")
  }
}

/// `hearth public list`.
struct PublicList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List records of followed catalogues.",
    discussion: """
      Reads the copy on this device. With --remote it asks the relay instead, by type and
      conditions; each record proves its publisher, and records older than the copy are left out.
      """)
  @OptionGroup var common: CommonOptions
  @Option(help: "The records' type: challenge, chore-template, flag, configuration.")
  var type: String?
  @Option(
    name: .customLong("where"),
    help: "A condition: category=calm, minutes=10..30, adultHelp=no; repeatable.")
  var conditions: [String] = []
  @Option(help: "The catalogue, if you follow several.") var catalogue: String?
  @Option(help: "How many records at most.") var limit = 1_000
  @Flag(help: "Ask the relay instead of the copy here.") var remote = false

  private struct Document: Encodable {
    let records: [PublicText.Item]
    let remote: Bool
  }

  func run() async throws {
    let conditions = try self.conditions.map(ConditionWords.condition)
    guard limit > 0 else { throw CommandFailure(.usage, "--limit must be a number from 1") }
    guard !remote || type != nil else {
      throw CommandFailure(
        .usage, "--remote needs one type", hint: "add --type challenge")
    }
    let query = try type.map { try checked($0, conditions) }
    let node = try await common.open()
    var found: [FoundRecord]
    var remarks: [String] = []
    if remote, let query {
      (found, remarks) = try await node.catalogues.find(query, atMost: limit, in: catalogue)
    } else {
      found = try await node.catalogues.records(type: type, conditions: conditions, in: catalogue)
      remarks = try await node.catalogues.list().isEmpty ? [PublicStatus.empty] : []
    }
    try await node.close()
    found = Array(found.prefix(limit))
    for remark in remarks { Output.note(remark) }
    if common.json {
      return try Output.json(Document(records: found.map { PublicText.Item($0) }, remote: remote))
    }
    guard !found.isEmpty else {
      if remarks.isEmpty { Output.note("no record matches") }
      return
    }
    let names = Set(found.map(\.catalogue)).count
    let rows = found.map { item in
      [item.record.path.description, PublicText.title(of: item.record)]
        + (names > 1 ? [item.catalogue.name] : [])
    }
    Output.print(
      Table(headers: ["RECORD", "TITLE"] + (names > 1 ? ["CATALOGUE"] : []), rows: rows).text)
  }

  private func checked(_ type: String, _ conditions: [PublicCondition]) throws -> PublicQuery {
    do {
      return try PublicQuery(type: type, conditions: conditions)
    } catch let error as SyncError {
      throw CommandFailure(.usage, error.message)
    }
  }
}

/// `hearth public get`.
struct PublicGet: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Show one record of a followed catalogue.")
  @OptionGroup var common: CommonOptions
  @Argument(help: "The record: TYPE/ID.") var record: String
  @Option(help: "The catalogue, if several have it.") var catalogue: String?

  func run() async throws {
    let path = try PublicGet.path(record)
    let node = try await common.open()
    let found = try await node.catalogues.record(path, in: catalogue)
    try await node.close()
    if common.json { return try Output.json(PublicText.Item(found)) }
    for line in PublicText.lines(found) { Output.print(line) }
  }

  /// Reads `TYPE/ID`.
  static func path(_ text: String) throws -> PublicKeyPath {
    guard let path = PublicEntry.path(ofName: Array(text.utf8)) else {
      throw CommandFailure(
        .usage, "\(ShownText.quoted(text)) is not the name of a record",
        hint: "write TYPE/ID, such as challenge/bench-test; `hearth public list` shows them")
    }
    return path
  }
}

/// `hearth public status`.
struct PublicStatus: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show the catalogues that are followed and published here.",
    discussion: "Compare the fingerprint of the publisher's key with the publisher's own.")
  @OptionGroup var common: CommonOptions

  static let empty = "no catalogue is followed yet: `hearth public follow ADDRESS`"

  private struct Document: Encodable {
    struct Published: Encodable {
      let name: String
      let version: UInt64?
      let records: Int?
      let places: [String]
    }
    let followed: [PublicText.Followed]
    let published: [Published]
  }

  func run() async throws {
    let node = try await common.open()
    let followed = try await node.catalogues.list()
    let published = try await node.publishing.catalogues()
    let now = await node.nowMilliseconds()
    try await node.close()
    if common.json {
      return try Output.json(
        Document(
          followed: followed.map { PublicText.Followed($0) },
          published: published.map {
            .init(
              name: $0.catalogue.address.catalogue.name, version: $0.catalogue.head?.version,
              records: $0.catalogue.head?.count, places: $0.places)
          }))
    }
    for item in published {
      let head = item.catalogue.head
      Output.print(
        "publishing \(item.catalogue.address.catalogue.name): version \(head?.version ?? 0), "
          + "\(Words.count(head?.count ?? 0, "record")), at \(item.places.joined(separator: ", "))")
    }
    guard !followed.isEmpty else { return Output.note(PublicStatus.empty) }
    let rows = followed.map { kept in
      [
        kept.address.catalogue.name, kept.address.catalogue.fingerprint,
        kept.head.map { "\($0.version)" } ?? "none", kept.head.map { "\($0.count)" } ?? "0",
        kept.head.map { PublicText.age(of: $0.publishedAt, now: now) } ?? "never",
        kept.checkedAt == 0 ? "never" : PublicText.age(of: kept.checkedAt, now: now),
        kept.folder ?? kept.address.relay.map { "\($0.host):\($0.port)" } ?? "",
      ]
    }
    Output.print(
      Table(
        headers: [
          "CATALOGUE", "PUBLISHER", "VERSION", "RECORDS", "PUBLISHED", "CHECKED", "FROM",
        ], rows: rows, rightAligned: [2, 3]
      ).text)
    for kept in followed {
      guard let problem = kept.problem else { continue }
      Output.note(
        "hearth: warning: the catalogue \(kept.address.catalogue.name): \(Style.safe(problem))")
    }
  }
}
