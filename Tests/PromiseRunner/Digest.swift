import ArgumentParser
import MembershipPromises
import PromiseTranslation

/// Sums up every decision over many random histories, so that work on speed alone can show that it
/// changed none.
struct Digest: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "One number for every decision over random histories.",
    discussion: "The same before and after a change that is to change no decision.")
  @Argument(help: "The first seed.") var from: UInt64 = 0
  @Argument(help: "How many.") var count: UInt64 = 20_000

  func run() {
    var digest: UInt64 = 14_695_981_039_346_656_037
    for seed in from..<(from + count) {
      let text = PromiseAdapter.decisions(PromiseCheck.history(seed: seed).acts)
      for byte in text.utf8 { digest = (digest ^ UInt64(byte)) &* 1_099_511_628_211 }
    }
    say("\(count) histories from \(from): \(String(digest, radix: 16))")
  }
}
