import ArgumentParser
import Foundation
import Hearth
import HearthMembership
import HearthSync
import Household

/// The options of every command.
package struct CommonOptions: ParsableArguments {
  @Option(
    name: .long,
    help: "The node's folder; otherwise HEARTH_HOME, $XDG_DATA_HOME/hearth, ~/.local/share/hearth.")
  var home: String?

  @Flag(name: .long, help: "Print one JSON document with `schema: 1`.")
  var json = false

  @Option(name: .long, help: "A file that contains the passphrase of the node's key.")
  var passphraseFile: String?

  @Option(name: .long, help: "The household, if this node is in several.")
  var household: String?

  @Option(name: .long, help: "When to colour: auto, always or never.")
  var color: ColorChoice?

  package init() {}

  /// The node's folder: see ``HomeFolder``.
  var homePath: String {
    get throws {
      try HomeFolder.path(option: home, environment: ProcessInfo.processInfo.environment)
    }
  }

  /// Returns the passphrase without its line end; nil if none was given.
  ///
  /// It comes from the file that the flag or `HEARTH_PASSPHRASE_FILE` names. Neither a flag nor a
  /// variable contains the passphrase itself: the process list shows arguments, and every program
  /// that a shell starts inherits its variables.
  func passphrase() throws -> [UInt8]? {
    let environment = ProcessInfo.processInfo.environment
    let named = environment["HEARTH_PASSPHRASE_FILE"].flatMap { $0.isEmpty ? nil : $0 }
    guard let file = passphraseFile ?? named else { return nil }
    guard let data = FileManager.default.contents(atPath: file) else {
      throw CommandFailure(.failed, "the passphrase file \(file) cannot be read")
    }
    var bytes = [UInt8](data)
    while let last = bytes.last, last == 10 || last == 13 { bytes.removeLast() }
    return bytes
  }

  /// Returns the passphrase of an existing key: the given one, or the answer to a prompt on a
  /// terminal.
  ///
  /// Without a terminal there is no prompt: piped input belongs to the command.
  private func passphraseOfKey() throws -> [UInt8]? {
    if let given = try passphrase() { return given }
    guard SecretInput.isTerminal, try Node.isProtected(at: homePath) else { return nil }
    return try SecretInput.line(asking: "the passphrase of this node's key:")
  }

  /// Returns the passphrase for a new key: the given one, or one typed twice.
  ///
  /// - Parameter isAsked: whether to prompt for a passphrase, or to read the first line of piped
  ///   input.
  func passphraseOfNewKey(isAsked: Bool) throws -> [UInt8]? {
    guard isAsked else { return try passphrase() }
    guard passphraseFile == nil else {
      throw CommandFailure(
        .usage, "--ask-passphrase and --passphrase-file exclude each other",
        hint: "leave one of them out")
    }
    let typed = try SecretInput.line(
      asking: "a passphrase for this node's key:", isAlwaysAsked: false)
    guard SecretInput.isTerminal else { return typed }
    guard try SecretInput.line(asking: "the same once more:") == typed else {
      throw CommandFailure(
        .usage, "the two passphrases differ", hint: "nothing was created: try again")
    }
    return typed
  }

  /// Refuses `--household` for a node that is only being made: it is in no household.
  func refuseHousehold() throws {
    guard household == nil else {
      throw CommandFailure(
        .usage, "--household names a household of an existing node, and this node is new",
        hint: "leave --household out")
    }
  }

  /// Opens the node, and waits a moment for another command to end.
  ///
  /// - Throws: also if `--household` names no household of this node, whatever the command does.
  func open() async throws -> Node {
    let node = try await Node.open(
      at: homePath, passphrase: try passphraseOfKey(), schema: CommandSchema.node)
    if let household {
      let shared = await node.dataZones().filter { $0.database == .shared }
      _ = try HouseholdNames.zone(household, among: shared)
    }
    let values = try await SettingValues.load([.color], of: node, household: nil)
    Style.choose(flag: color, setting: values.color)
    if !json, ProgressLine.isShown { await node.reportTransfers(to: ProgressLine.tell) }
    return node
  }
}

/// This program's declarations of its records to a node.
package enum CommandSchema {
  static let node = NodeSchema(
    records: HouseholdSchema.all, projections: [HouseholdProjection()],
    policy: HouseholdSchema.rolePolicy, naturalKeys: HouseholdSchema.naturalKeys,
    zoneName: { try HouseholdSettings.name(in: $0) })
}
