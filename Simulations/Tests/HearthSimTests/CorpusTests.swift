import Foundation
import HearthSim
import Testing

@Suite("What failed once")
struct CorpusTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appendingPathComponent("Corpus")

  static let plans: [String] =
    ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".json") }.sorted()

  @Test("There are plans")
  func plans() { #expect(CorpusTests.plans.count > 50) }
}

// Probes and seeded bugs are of the process: plans run one after the other.
extension CorpusTests {
  @Suite("A kept plan", .serialized)
  struct Kept {
    @Test("holds", arguments: CorpusTests.plans)
    func holds(plan: String) throws {
      let outcome = try Simulator.run(.file(CorpusTests.folder.appendingPathComponent(plan).path))
      #expect(outcome.failure == nil)
    }
  }
}
