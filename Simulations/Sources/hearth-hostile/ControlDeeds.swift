import ArgumentParser
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

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try words ? member.devicesByWords(number) : member.strangers(number)
  }
}
