import ArgumentParser
import HearthCRDT
import HearthMembership
import HostileMember

/// `hearth-hostile heartbeats`.
struct Heartbeats: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "heartbeats",
    abstract: "Very many reports in the control zone, of which an honest device sends one a day.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many reports.") var number = 20_000
  @Option(help: "How many in one change.") var perChange = 1
  @Option(help: "How many in one file.") var perFile = 5_000
  @Option(help: "How many authors each names, who do not exist.") var authors = 0

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.heartbeats(
      number, HostileMember.Measure(perChange: perChange, perFile: perFile), naming: authors)
  }
}

/// `hearth-hostile strangers`.
struct Strangers: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "strangers",
    abstract: "Logs of devices in the control zone for which nothing vouches.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many devices.") var number = 600
  @Flag(help: "Let them in as the own person's, by recovery words made for this.")
  var words = false
  @Option(help: "Forge their signatures, after so many replacements of the words.")
  var replaced: Int?
  @Flag(help: "Name invitations that there are, whose secrets are not known.") var named = false

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    if words, let replaced { return try member.devicesByForgedWords(number, replaced: replaced) }
    if words { return try member.devicesByWords(number) }
    let invites = named ? member.membership.invites.map(\.operation.invite) : []
    return try member.strangers(number, naming: invites)
  }
}

/// `hearth-hostile invitations`.
struct Invitations: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "invitations",
    abstract: "Invitations for the own person, each used by several devices at once.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many invitations.") var number = 1_300
  @Option(help: "How many devices use each.") var joins = 2

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.invitations(number, joins: joins)
  }
}

/// `hearth-hostile unseen`.
struct Unseen: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "unseen",
    abstract: "Undo the recovery that ended this device, as if nobody had seen it.",
    discussion: """
      It revokes the device that the person's recovery words brought, and removes a witness. It
      says that it has seen the witness's latest operation, and nothing that the witness had seen.
      """)
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "The home of an accomplice who has seen the recovery.") var eyes: String
  @Option(help: "The name of the witness.") var witness: String
  @Flag(help: "Let in a fresh device for it, which nobody knows.") var fresh = false
  @Flag(help: "Do not cite the witness, or anything that came after this device's last sync.")
  var closed = false

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    let accomplice = try HostileHome(eyes).member(options)
    let own = member.person
    guard let recovered = accomplice.membership.devices.first(where: { $0.person == own }) else {
      throw HostileError("the person of this device has none that the accomplice knows")
    }
    return try member.undo(
      recovered.id, seenBy: accomplice.person(called: witness),
      citing: closed ? nil : accomplice.controlAuthor(called: witness), isFresh: fresh)
  }
}
