import Hearth
import HearthMembership
import Testing

@testable import HearthCLI

@Suite("The application of the command line")
struct ApplicationTests {
  @Test("It is the household's, whose files name none")
  func household() {
    #expect(CommandSchema.node.application == .household)
  }
}
