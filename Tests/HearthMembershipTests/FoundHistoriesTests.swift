import MembershipPromises
import PromiseTranslation
import Testing

/// Histories that were once judged wrongly, each shrunk to the few operations that show it.
@Suite("Membership: histories that were judged wrongly")
struct FoundHistoriesTests {
  /// What is still judged wrongly.
  ///
  /// F4e: an owner's stolen device demotes the admin who had seen the recovery, dated back, so
  /// nobody of rank is left who had seen it.
  private static let known: Set<String> = ["F4e"]

  @Test("Each keeps every promise", arguments: PromiseCheck.found.map(\.name))
  func found(name: String) throws {
    let found = try #require(PromiseCheck.found.first { $0.name == name })
    if FoundHistoriesTests.known.contains(name) {
      withKnownIssue("\(name)") { check(found.history) }
    } else {
      check(found.history)
    }
  }

  private func check(_ history: History) {
    let broken = Checker(history).firstBroken(PromiseAdapter.resolve)
    #expect(broken == nil, "\(broken.map(String.init(describing:)) ?? "")")
  }

  @Test("None is missing")
  func count() {
    #expect(PromiseCheck.found.count >= 36)
  }
}
