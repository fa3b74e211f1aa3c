import HearthCRDT
import HearthMembership
import Testing

@testable import HearthCLI

@Suite("The audit in words")
struct AuditTextTests {
  @Test("An invitation that is over is told as closed, with its cause")
  func closings() {
    let invite = Identifier(high: 0xabcd_0000_0000_0000, low: 1)
    let id = ShortID.text(invite)
    #expect(
      AuditText.closed(invite, .usedUp, by: "laptop") == "the invitation \(id) closed: used up")
    #expect(
      AuditText.closed(invite, .expired, by: "laptop")
        == "the invitation \(id) closed: expired, by the clock of laptop")
    #expect(
      AuditText.closed(invite, .userRemoved, by: "laptop")
        == "the invitation \(id) closed: somebody who used it was removed")
  }
}
