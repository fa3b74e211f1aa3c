import MembershipPromises
import PromiseTranslation
import Testing

/// Histories that were once judged wrongly, each shrunk to the few operations that show it.
@Suite("Membership: histories that were judged wrongly")
struct FoundHistoriesTests {
  @Test("Each keeps every promise", arguments: PromiseCheck.found.map(\.name))
  func found(name: String) throws {
    check(try #require(PromiseCheck.found.first { $0.name == name }).history)
  }

  @Test(
    "So does each random history that once broke one",
    arguments: [2_022_518, 2_027_349, 2_032_094, 2_091_308])
  func random(seed: UInt64) {
    check(PromiseCheck.history(seed: seed), seed: seed)
  }

  private func check(_ history: History, seed: UInt64 = 0) {
    let broken = Checker(history, seed: seed).firstBroken(PromiseAdapter.resolve)
    #expect(broken == nil, "\(broken.map(String.init(describing:)) ?? "")")
  }

  @Test("None is missing")
  func count() {
    #expect(PromiseCheck.found.count >= 53)
  }
}
