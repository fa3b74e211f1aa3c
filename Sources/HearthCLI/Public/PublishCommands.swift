import ArgumentParser
import Hearth
import HearthRelayProtocol
import HearthSync

/// `hearth public publish`.
struct PublicPublish: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "publish", abstract: "Sign a catalogue file and publish its changes.",
    discussion: """
      The places are remembered, so you can leave out --to the next time. Publishing the same file
      again changes nothing. Records that are no longer in the file are retired.

      Example:
        hearth public publish Catalogue/hearth.json --to hearth-relay://192.0.2.7:7440/0k3f...
      """)
  @OptionGroup var common: CommonOptions
  @Argument(help: "The file.", completion: .file(extensions: ["json"])) var file: String
  @Option(help: "A relay's address, or a folder; repeatable.") var to: [String] = []
  @Option(help: "The token from the relay's operator, if one is needed.")
  var token: String?

  private struct Document: Encodable {
    struct Place: Encodable {
      let place: String
      let address: String
      let sent: Int
      let removed: Int
      let failure: String?
    }
    let catalogue: String
    let version: UInt64
    let records: Int
    let changed: Bool
    let places: [Place]
  }

  func run() async throws {
    let catalogue = try CatalogueFile(path: file)
    let node = try await common.open()
    let report = try await node.publishing.publish(
      catalogue.records, named: catalogue.name, leastVersion: catalogue.version, to: to,
      token: token)
    try await node.close()
    if common.json {
      try Output.json(
        Document(
          catalogue: report.catalogue.name, version: report.version, records: report.count,
          changed: report.isNew,
          places: report.places.map {
            .init(
              place: $0.place, address: $0.address.description, sent: $0.sent,
              removed: $0.removed, failure: $0.failure)
          }))
    } else {
      tell(report)
    }
    for place in report.places {
      if let failure = place.failure { Output.note("hearth: error: \(Style.safe(failure))") }
    }
    if report.places.contains(where: \.isOffline) {
      throw ExitCode(ExitStatus.offline.rawValue)
    }
    if report.places.contains(where: { $0.failure != nil }) {
      throw ExitCode(ExitStatus.failed.rawValue)
    }
  }

  private func tell(_ report: PublishReport) {
    Output.print(
      "\(report.catalogue.name): version \(report.version), "
        + Words.count(report.count, "record") + (report.isNew ? "" : ", nothing changed"))
    for place in report.places where place.failure == nil {
      let sent = place.sent == 0 ? "nothing to send" : "sent \(Words.count(place.sent, "record"))"
      let removed = place.removed == 0 ? "" : ", removed \(place.removed)"
      Output.print("\(Style.safe(place.place)): \(sent)\(removed)")
      let folder = place.address.relay == nil ? " --folder '\(Style.safe(place.place))'" : ""
      Output.note("to follow it: hearth public follow \(place.address)\(folder)")
    }
  }
}

/// `hearth public publisher`.
struct PublisherCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "publisher", abstract: "Create, show, export and import a publisher's key.",
    subcommands: [New.self, Show.self, Export.self, Import.self])

  private struct Document: Encodable {
    let fingerprint: String
  }

  private static func tell(_ fingerprint: String, isJSON: Bool) throws {
    if isJSON { return try Output.json(Document(fingerprint: fingerprint)) }
    Output.print("publisher \(fingerprint)")
  }

  /// Creates a key.
  struct New: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "new", abstract: "Create a publisher's key for this node.",
      discussion: "Everybody who follows a catalogue of yours trusts this key.")
    @OptionGroup var common: CommonOptions

    func run() async throws {
      let node = try await common.open()
      let fingerprint = try await node.publishing.makeKey()
      try await node.close()
      try PublisherCommand.tell(fingerprint, isJSON: common.json)
      Output.note("next: `hearth public publisher export FILE` saves a copy for a safe place")
    }
  }

  /// Shows the key's fingerprint.
  struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show", abstract: "Show the fingerprint of this node's publisher's key.")
    @OptionGroup var common: CommonOptions

    func run() async throws {
      let node = try await common.open()
      let fingerprint = try await node.publishing.fingerprint()
      try await node.close()
      guard let fingerprint else {
        throw CommandFailure(
          .failed, "this node has no publisher's key yet",
          hint: "`hearth public publisher new` creates one")
      }
      try PublisherCommand.tell(fingerprint, isJSON: common.json)
    }
  }

  /// Saves the key.
  struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "export", abstract: "Save the key to a file, under a passphrase.",
      discussion: "The passphrase is read from standard input.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The new file.", completion: .file()) var file: String

    private struct Saved: Encodable {
      let file: String
    }

    func run() async throws {
      let words = try SecretInput.line(asking: "a passphrase for the file:", isAlwaysAsked: false)
      let node = try await common.open()
      try await node.publishing.exportKey(passphrase: words, to: file)
      try await node.close()
      if common.json { return try Output.json(Saved(file: file)) }
      Output.print("saved to \(Style.safe(file))")
    }
  }

  /// Imports a saved key.
  struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "import", abstract: "Import a saved key.",
      discussion: "The passphrase is read from standard input.")
    @OptionGroup var common: CommonOptions
    @Argument(help: "The file.", completion: .file()) var file: String

    func run() async throws {
      let words = try SecretInput.line(asking: "the file's passphrase:", isAlwaysAsked: false)
      let node = try await common.open()
      let fingerprint = try await node.publishing.importKey(passphrase: words, from: file)
      try await node.close()
      try PublisherCommand.tell(fingerprint, isJSON: common.json)
    }
  }
}
