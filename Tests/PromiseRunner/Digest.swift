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
  @Flag(help: "Print a number for each history, to find those that differ.") var each = false

  func run() {
    var digest = Digest.start
    for seed in from..<(from + count) {
      let text = PromiseAdapter.decisions(PromiseCheck.history(seed: seed).acts)
      let own = Digest.hash(text, from: Digest.start)
      if each { say("\(seed) \(String(own, radix: 16))") }
      digest = Digest.hash(text, from: digest)
    }
    say("\(count) histories from \(from): \(String(digest, radix: 16))")
  }

  /// FNV-1a.
  private static var start: UInt64 { 14_695_981_039_346_656_037 }

  private static func hash(_ text: String, from start: UInt64) -> UInt64 {
    text.utf8.reduce(start) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
  }
}
