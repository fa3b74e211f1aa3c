import ArgumentParser
import Glibc
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// Compares two devices face to face.
struct CompareCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compare", abstract: "Show thirty digits to compare two devices.",
    discussion: """
      Two devices with exactly the same changes of the household, including people and keys, show
      the same thirty digits: no transport hides anything from one of them. Sync both first. With
      --person: sixty digits of your keys and the other person's; both of you see the same.

      Examples:
        hearth compare
        hearth compare --with "43500 23030 82230 61988 67070 97793"
        hearth compare --person Ben
      """)

  @Option(help: "The digits of the other device.") var with: String?
  @Option(help: "Compare keys with this person instead.") var person: String?
  @Flag(help: "Show the QR code even if the output is not a terminal.") var qr = false
  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    let household: String
    let digits: String
    let person: String?
    let isEqual: Bool?
  }

  func run() async throws {
    let context = try await HouseholdContext.open(options)
    let node = context.node
    var other: Member?
    let digits: String
    if let person {
      let found = try await PeopleNames.of(context).person(person)
      guard found.id != (await node.person) else {
        throw CommandFailure(.failed, "you cannot compare keys with yourself")
      }
      other = found
      digits = try await node.people.safetyNumber(with: found.id, in: context.zone.group)
    } else {
      digits = try await node.diagnostics.fingerprint(of: context.zone.group)
    }
    try await node.close()
    let isEqual = try with.map { try isSame($0, digits) }
    if options.json {
      try Output.json(
        Document(
          household: context.zone.name, digits: digits, person: other?.name, isEqual: isEqual))
    } else {
      Output.print(digits)
      if isEqual == nil, qr || isatty(STDOUT_FILENO) == 1 {
        QRText.show(digits.filter(\.isNumber))
      }
      tell(isEqual, with: other)
    }
    guard isEqual == false else { return }
    // The text output has reported it above.
    guard options.json else { throw ExitCode(ExitStatus.partial.rawValue) }
    throw CommandFailure(
      .partial,
      other == nil
        ? "the digits differ: one of the devices has changes that the other one lacks"
        : "the digits differ: your keys for each other do not match",
      hint: "`hearth sync` on both, then compare again")
  }

  private func isSame(_ typed: String, _ digits: String) throws -> Bool {
    let own = digits.filter(\.isNumber)
    let read = typed.filter { !$0.isWhitespace && $0 != "-" }
    guard read.count == own.count, read.allSatisfy({ $0.isASCII && $0.isNumber }) else {
      throw CommandFailure(
        .usage, "\(ShownText.quoted(typed)) does not have \(own.count) digits",
        hint: "write all digits that `hearth compare` prints on the other device, in quotes")
    }
    return read == own
  }

  private func tell(_ isEqual: Bool?, with other: Member?) {
    let name = Style.safe(other?.name ?? "")
    switch (isEqual, other) {
    case (nil, nil):
      Output.note(
        "the other device must show the same: `hearth compare` there, after a sync of both")
    case (nil, _):
      Output.note("\(name) must see the same: `hearth compare --person YOU` there")
    case (true?, nil):
      Output.print(
        "equal: both devices have the same changes, and no transport hides any from one of them")
    case (true?, _):
      Output.print("equal: the keys that you have of each other are the real ones")
    case (false?, nil):
      Output.print("different: one of the devices has changes that the other one lacks")
      Output.note(
        "next: `hearth sync` on both and compare again; if they still differ, a transport "
          + "withholds changes: see `hearth status` and `hearth device`")
    case (false?, _):
      Output.print("different: your keys for each other do not match")
      Output.note(
        "next: `hearth sync` on both and compare again; if they still differ, trust neither: see "
          + "`hearth audit` for who admitted which device")
    }
  }
}
