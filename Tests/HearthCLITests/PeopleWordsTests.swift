import Foundation
import Hearth
import Testing

@testable import HearthCLI

@Suite("What is said to people who wait, and who write down how to come back")
struct PeopleWordsTests {
  private let expiry: UInt64 = 1_790_000_000_000

  /// A household that was asked, as a node keeps it.
  private func pending(closedBy: String? = nil, expires: UInt64?) throws -> PendingJoin {
    var fields: [String: Any] = [
      "groupID": "00", "groupName": "Home", "inviterName": "Anna", "roleName": "member",
      "folder": "/folder", "askedMilliseconds": 1_780_000_000_000, "number": "11111 22222",
      "secret": "", "capsule": "", "slot": 0, "request": "",
    ]
    fields["closedBy"] = closedBy
    fields["expiresMilliseconds"] = expires
    return try JSONDecoder().decode(
      PendingJoin.self, from: JSONSerialization.data(withJSONObject: fields))
  }

  @Test("Who waits is told until when, and at the end of that time to ask anew")
  func waiting() throws {
    let open = PendingJoinText(try pending(expires: expiry), now: expiry)
    #expect(!open.isOver)
    #expect(open.words.contains("has not approved this device yet; the invitation expires on"))
    let over = PendingJoinText(try pending(expires: expiry), now: expiry + 1)
    #expect(over.isOver)
    #expect(over.words.contains("ended on 2026-09-21"))
    #expect(over.words.contains("ask Anna for a new one"))
    #expect(over.lines.joined().contains("`hearth join -`"))
  }

  @Test("An invitation that an earlier version followed is never said to be over by itself")
  func unknownExpiry() throws {
    let waiting = PendingJoinText(try pending(expires: nil), now: .max)
    #expect(!waiting.isOver)
    #expect(waiting.words == "Home has not approved this device yet")
    let closed = PendingJoinText(try pending(closedBy: "Cleo", expires: nil), now: 0)
    #expect(closed.isOver)
    #expect(closed.words.contains("Cleo reported that the invitation to Home was closed"))
  }

  @Test("What somebody claims to have seen is told as a claim, and blames nobody for it")
  func withheld() {
    let many = StandingText.Document.Withheld(
      device: "phone", person: "Ben", changes: 50, witness: "phone", witnessPerson: "Mal")
    #expect(
      StandingText.line(many, kinds: ["folder"])
        == "phone (Mal) says that it has seen 50 changes of phone (Ben) that are not here: the "
        + "folder lags or withholds them, or the claim is false")
    #expect(
      StandingText.remedy(many)
        == "sync again, here and on both devices; if that does not help, check that all of you "
        + "use the same folders and relays, and run `hearth doctor` on phone (Ben), which knows "
        + "what it wrote")
    let one = StandingText.Document.Withheld(
      device: "Ben's phone", person: "Ben", changes: 1, witness: "Ada's phone",
      witnessPerson: "Ada")
    #expect(
      StandingText.line(one, kinds: ["folder", "relay"])
        == "Ada's phone says that it has seen 1 change of Ben's phone that is not here: a folder "
        + "or relay lags or withholds it, or the claim is false")
  }

  @Test("The way back names every transport whole, and a relay's address is to be written down")
  func recoverCommands() throws {
    let relay = "hearth-relay://192.0.2.7:7440/" + String(repeating: "0", count: 52)
    let settings = try JSONDecoder().decode(
      [TransportSetting].self,
      from: Data(
        """
        [{"number":1,"kind":"folder","path":"/home/anna/My Home"},
         {"number":2,"kind":"relay","path":"\(relay)"}]
        """.utf8))
    let lines = WordsPrinting.recoverCommands(settings)
    #expect(lines.contains("  hearth recover --transport '/home/anna/My Home'"))
    #expect(lines.contains("  hearth recover --transport \(relay)"))
    #expect(lines.last?.contains("write the relay's whole address") == true)
    #expect(lines.contains("on a new device, with one of these:"))
    // Where each leads back to a part, one command names all.
    let parts = WordsPrinting.recoverCommands(settings, differ: true)
    #expect(parts.contains("on a new device, with all of these:"))
    #expect(
      parts.contains(
        "  hearth recover --transport '/home/anna/My Home' --transport \(relay)"))
    #expect(WordsPrinting.recoverCommands(Array(settings.prefix(1))).count == 2)
    #expect(WordsPrinting.recoverCommands([]).count == 1)
  }

  @Test("Options before help, a group of commands or nothing are passed over")
  func leadingOptions() {
    let moved = HearthCommand.leadingOptionsLast
    #expect(moved(["--home", "h", "help", "owner"]) == ["help", "owner"])
    #expect(moved(["--home", "h", "transport", "-h"]) == ["transport", "-h"])
    #expect(moved(["--home", "h", "owner", "--help"]) == ["owner", "--help"])
    #expect(moved(["--home", "h", "transport"]) == ["transport"])
    #expect(moved(["--home", "h"]) == [])
    #expect(moved(["--home", "h", "owner"]) == ["owner", "--home", "h"])
    #expect(moved(["--json", "--version"]) == ["version", "--json"])
    #expect(
      moved(["--home", "h", "add", "--", "-h"]) == ["add", "--home", "h", "--", "-h"])
  }

  @Test("What does not show itself is written as its number")
  func printableText() {
    #expect(printable("/tmp/ö x") == "/tmp/ö x")
    #expect(printable("a\u{1B}[31m\u{202E}\u{0}") == "a\\u{1b}[31m\\u{202e}\\u{0}")
    #expect(printable(String(repeating: "x", count: 200)).count == 200)
    #expect(printable(String(repeating: "x", count: 201)).hasSuffix("…"))
  }

  @Test("A word of a shell stays one word")
  func shellWords() {
    #expect(ShellText.word("/tmp/a-b_c.d") == "/tmp/a-b_c.d")
    #expect(ShellText.word("it's") == "'it'\\''s'")
    #expect(ShellText.word("$HOME") == "'$HOME'")
    #expect(ShellText.word("") == "''")
  }

  @Test("A crowd under one name is named once, and a long list ends with a number")
  func crowds() {
    #expect(Words.names(["Ben"]) == "Ben")
    #expect(Words.names(["Mal", "Ben", "Mal", "Mal"]) == "Mal (3 times), Ben")
    let many = (1...10).map { "P\($0)" }
    #expect(Words.names(many + ["P10"]) == "P1, P2, P3, P4, P5, P6, P7, P8 and 2 more")
  }
}
