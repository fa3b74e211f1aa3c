import ArgumentParser
import Foundation
import Hearth
import HearthCRDT

/// Creates a node on this device.
struct InitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init", abstract: "Make this device a node of yours.",
    discussion: """
      Creates the device's keys and an empty database in the node's folder. Nothing leaves the
      device. An existing node is never replaced. With a passphrase, nobody can use the file with
      the device's key without it.

      Examples:
        hearth init --person Anna
        hearth init --person Anna --ask-passphrase
      """)

  @Option(help: "Your name, as the others in the household will see it.")
  var person: String

  @Option(help: "This device's name; by default the machine's.")
  var device: String?

  @Flag(help: "Ask for a passphrase that protects the node's key.")
  var askPassphrase = false

  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    let home: String
    let person: String
    let personId: String
    let device: String
    let deviceId: String
    let isProtected: Bool
  }

  func run() async throws {
    try options.refuseHousehold()
    let home = try options.homePath
    let name = try Name.checked(person, what: "the person's name")
    let deviceName = try Name.checked(
      device ?? ProcessInfo.processInfo.hostName,
      what: "the device's name")
    let passphrase = try options.passphraseOfNewKey(isAsked: askPassphrase)
    let node = try await Node.create(
      at: home, person: name, device: deviceName, passphrase: passphrase,
      schema: CommandSchema.node)
    let id = await node.device
    if options.json {
      try Output.json(
        Document(
          home: home, person: name, personId: await node.person.hex,
          device: deviceName, deviceId: id.hex, isProtected: passphrase != nil))
    } else {
      Output.print("\(name)'s node on \(deviceName): device \(ShortID.text(id))")
      Output.print("home: \(home)")
      Output.note(
        "next: `hearth household create NAME` to create one, or `hearth join -` to join one")
    }
    try await node.close()
  }
}
