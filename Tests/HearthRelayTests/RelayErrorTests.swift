import Testing

@testable import HearthRelay
@testable import HearthRelayCore

@Suite("Errors of the relay's program")
struct RelayErrorTests {
  @Test("errors are equal by code, and say their cause")
  func equality() {
    let disk = RelayError(.diskFull, "the disk is full", cause: RelayError(.inputOutput, "ENOSPC"))
    #expect(disk == RelayError(.diskFull, ""))
    #expect(disk != RelayError(.inputOutput, "the disk is full"))
    #expect("\(disk)" == "the disk is full (ENOSPC)")
  }
}
