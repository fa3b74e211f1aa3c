import ArgumentParser
import HearthCRDT
import HearthSync
import HostileMember
import Household

/// `hearth-hostile setbomb`.
struct SetBomb: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "setbomb", abstract: "A set with very many elements in the own person's record.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many elements.") var elements = 100_000
  @Option(help: "How many in one change.") var perChange = 10_000
  @Option(help: "How many in one file; more than so many do not compress.") var perFile = 100_000

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.setBomb(
      elements: elements, HostileMember.Measure(perChange: perChange, perFile: perFile))
  }
}

/// `hearth-hostile historybomb`.
struct HistoryBomb: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "historybomb",
    abstract: "A history with very many values in the own person's record.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many values, one a change.") var values = 20_000
  @Option(help: "How many in one file.") var perFile = 10_000

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.historyBomb(values: values, perFile: perFile)
  }
}

/// `hearth-hostile textbomb`.
struct TextBomb: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "textbomb", abstract: "Very many edits of a text in the own person's record.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many edits.") var edits = 100_000
  @Option(help: "How many in one change.") var perChange = 10_000
  @Option(help: "How many in one file.") var perFile = 100_000

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.textBomb(
      edits: edits, HostileMember.Measure(perChange: perChange, perFile: perFile))
  }
}

/// `hearth-hostile gapbomb`.
struct GapBomb: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "gapbomb", abstract: "Files that each wait for a change that never comes.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many files.") var files = 150
  @Option(help: "How many operations in each.") var items = 350_000
  @Option(help: "How many in one change.") var perChange = 10_000

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.gapBomb(
      files: files, HostileMember.Measure(perChange: perChange, perFile: items))
  }
}

/// `hearth-hostile longtext`.
struct LongText: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "longtext",
    abstract: "A text in the own person's record, to which each life adds all that it may.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many lives.") var lives = 60

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.longText(lives: lives)
  }
}

/// `hearth-hostile ladder`.
struct Ladder: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "ladder", abstract: "Two logs that cite each other by turns.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many changes of each log.") var steps = 10_000
  @Option(help: "How many changes of the second log in one file.") var perFile = 10_000

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.ladder(steps: steps, perFile: perFile)
  }
}

/// `hearth-hostile bigrecord`.
struct BigRecord: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "bigrecord", abstract: "A chore of very many bytes.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many fields.") var fields = 200
  @Option(help: "How many bytes in each.") var bytes = 512 * 1_024

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    let id = member.identifier()
    let named = try member.seal([member.change(member.chore(id, title: "Big", note: ""))])
    let key = RecordKey(type: HouseholdSchema.chore, id: id)
    return [named] + (try member.bigRecord(key, fields: fields, bytesEach: bytes))
  }
}

/// `hearth-hostile newersuite`.
struct NewerSuite: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "newersuite", abstract: "Noise that says it is of a program to come.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many files.") var files = 64
  @Option(help: "How many bytes in each.") var bytes = 1_000_000
  @Flag(help: "In the control zone instead of the zone of records.") var control = false

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.newerSuite(files: files, bytesEach: bytes, isControl: control)
  }
}

/// `hearth-hostile lives`.
struct Lives: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "lives",
    abstract: "A chore in each of very many lives of the device.",
    discussion: """
      Each life tells the control log of itself first. On several devices of one person this uses
      up the person's places. With --part 0 into one folder and --part 1 into another each replica
      meets other lives first.
      """)
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many lives.") var number = 256
  @Option(help: "Lives of different parts are different ones.") var part = 0
  @Flag(help: "Tell the control log nothing: then no record of such a life may count.")
  var unannounced = false

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.lives(number, part: part, announcing: !unannounced)
  }
}

/// `hearth-hostile future`.
struct Future: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "future",
    abstract: "Claim to have seen what somebody has not written yet, and undo it.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "The name of who will write it.") var victim: String
  @Option(help: "The chore's title.") var chore: String
  @Option(help: "How many changes ahead.") var ahead: UInt64 = 1
  @Flag(help: "Delete the chore instead of renaming it.") var delete = false
  @Option(help: "Take this tag off instead.") var exclude: String?

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    let erasure = exclude.map { HostileMember.Erasure.exclude(tag: $0) }
    return try member.future(
      of: member.author(called: victim).author, ahead: ahead, over: home.chore(titled: chore),
      delete ? .delete : erasure ?? .rename)
  }
}

/// `hearth-hostile halftransaction`.
struct HalfTransaction: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "halftransaction",
    abstract: "One transaction of which a child may do a half: a new title, and done.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "The chore's title; one without a rule.") var chore: String

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.halfTransaction(
      on: home.chore(titled: chore), key: OccurrenceKey.once.rawValue, day: HostileHome.today())
  }
}

/// `hearth-hostile futuredone`.
struct FutureDone: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "futuredone",
    abstract: "Say that what is not due yet, and never will be, is done.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "The chore's title; one with a rule.") var chore: String
  @Option(help: "From how many days ahead on.") var ahead = 1
  @Option(help: "How many.") var number = 200

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    guard let first = try HostileHome.today().adding(days: ahead) else {
      throw ValidationError("--ahead leads out of the calendar")
    }
    return try member.futureDone(
      of: home.chore(titled: chore), from: first, number: number)
  }
}

/// `hearth-hostile links`.
struct Links: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "links",
    abstract: "Say that what counts from completion was done again and again today.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "The chore's title; one that counts from completion.") var chore: String
  @Option(help: "How many.") var number = 200

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.links(of: home.chore(titled: chore), on: HostileHome.today(), number: number)
  }
}

/// `hearth-hostile badzone`.
struct BadZone: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "badzone", abstract: "Give a setting a value that no program would give it.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "The setting.") var setting = "time-zone"
  @Option(help: "Its value.") var value = "Mars/Base"

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.setting(setting, value)
  }
}

/// `hearth-hostile marks`.
struct Marks: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "marks", abstract: "Marks in a title and a name that a terminal acts upon.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.marks()
  }
}

/// `hearth-hostile shape`.
struct Shape: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "shape",
    abstract: "A deed of any size, given in numbers that a search for costs chooses.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "What is written; a wrong word lists the kinds.") var kind: String
  @Option(help: "How many operations.") var number = 1_000
  @Option(help: "How many in one change.") var perChange = 100
  @Option(help: "How many in one file.") var perFile = 1_000
  @Option(help: "How many bytes, files, records or authors, by kind.") var size = 100
  @Option(help: "Which form of the kind.") var variant = 0

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    guard let kind = HostileShape.Kind(rawValue: kind) else {
      throw ValidationError(
        "there is no kind \(self.kind), but "
          + HostileShape.Kind.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return try member.files(
      of: HostileShape(
        kind: kind, number: number, perChange: perChange, perFile: perFile, size: size,
        variant: variant))
  }
}

/// `hearth-hostile honest`.
struct Honest: FolderDeed {
  static let configuration = CommandConfiguration(
    commandName: "honest",
    abstract: "Ordinary chores and edits: what the others are measured by.")
  @OptionGroup var options: HomeOptions
  @Option(help: "The shared folder.") var folder: String
  @Option(help: "How many files, of a chore each.") var number = 10
  @Option(help: "How often each chore is edited.") var edits = 10

  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile] {
    try member.honestChores(files: number, edits: edits)
  }
}
