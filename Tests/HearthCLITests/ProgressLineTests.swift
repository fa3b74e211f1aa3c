import HearthSync
import Testing

@testable import HearthCLI

@Suite("The line of progress")
struct ProgressLineTests {
  private static func progress(_ bytes: Int, place: String = "relay.example:7440")
    -> TransferProgress
  {
    TransferProgress(
      place: place, direction: .receiving, files: 12, expectedFiles: 214, bytes: bytes,
      expectedBytes: 102_000_000)
  }

  @Test("it says how much of what, which way and where")
  func words() {
    #expect(
      ProgressScreen.words(Self.progress(31_499_999))
        == "receiving 31.4 of 102.0 MB (12 of 214 files) from relay.example:7440")
    let given = TransferProgress(
      place: "/tmp/a\u{1B}[2Jb", direction: .giving, files: 1, bytes: 99_999)
    #expect(ProgressScreen.words(given) == "sending 0.0 MB (1 file) to /tmp/a⟨U+001B⟩[2Jb")
  }

  @Test("a sum that was exceeded is not told")
  func exceeded() {
    var progress = Self.progress(102_000_001)
    progress.files = 215
    #expect(
      ProgressScreen.words(progress) == "receiving 102.0 MB (215 files) from relay.example:7440")
  }

  @Test("nothing is shown before half a second, and then what came last")
  func patience() {
    var screen = ProgressScreen()
    #expect(screen.note(Self.progress(0), atMilliseconds: 1_000) == true)
    #expect(screen.draw(atMilliseconds: 1_499, columns: 80) == nil)
    #expect(screen.note(Self.progress(5_000_000), atMilliseconds: 1_499) == false)
    let shown = screen.draw(atMilliseconds: 1_500, columns: 80)
    #expect(shown == "\r" + ProgressScreen.words(Self.progress(5_000_000)))
  }

  @Test("it is drawn ten times a second at most")
  func pace() {
    var screen = ProgressScreen()
    _ = screen.note(Self.progress(0), atMilliseconds: 0)
    #expect(screen.draw(atMilliseconds: 600, columns: 80) != nil)
    #expect(screen.draw(atMilliseconds: 699, columns: 80) == nil)
    #expect(screen.draw(atMilliseconds: 700, columns: 80) != nil)
  }

  @Test("a shorter line covers the longer one, and erasing covers all of it")
  func covers() {
    var screen = ProgressScreen()
    let long = Self.progress(0, place: "a-very-long-name.example:7440")
    _ = screen.note(long, atMilliseconds: 0)
    let first = screen.draw(atMilliseconds: 600, columns: 100) ?? ""
    _ = screen.note(Self.progress(0, place: "b:1"), atMilliseconds: 650)
    let second = screen.draw(atMilliseconds: 700, columns: 100) ?? ""
    #expect(second.count == first.count)
    #expect(screen.erase() == "\r" + String(repeating: " ", count: first.count - 1) + "\r")
    #expect(screen.erase() == nil)
  }

  @Test("it leaves a terminal's last column free")
  func narrow() {
    var screen = ProgressScreen()
    _ = screen.note(Self.progress(0), atMilliseconds: 0)
    let shown = screen.draw(atMilliseconds: 600, columns: 40) ?? ""
    #expect(Table.columns(String(shown.dropFirst())) == 39)
    #expect(shown.hasSuffix("…"))
  }

  @Test("after an end the next transfer has to take long again")
  func begins() {
    var screen = ProgressScreen()
    _ = screen.note(Self.progress(0), atMilliseconds: 0)
    #expect(screen.note(nil, atMilliseconds: 300) == false)
    #expect(screen.draw(atMilliseconds: 600, columns: 80) == nil)
    #expect(screen.note(Self.progress(0), atMilliseconds: 700) == true)
    #expect(screen.draw(atMilliseconds: 1_100, columns: 80) == nil)
    #expect(screen.draw(atMilliseconds: 1_200, columns: 80) != nil)
  }
}
