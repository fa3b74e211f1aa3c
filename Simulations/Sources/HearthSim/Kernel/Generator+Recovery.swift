/// Recovery words: who has some, whose device is lost, and what comes back from them.
extension Generator {
  /// Draws from a stream of its own, so that nothing else of a plan depends on it.
  mutating func recovery(through end: Int) {
    var own = Chance(seed, domain: "recovery", mode == .quick ? 0 : 1)
    guard own.happens(perMille: mode == .quick ? 120 : 400) else { return }
    let name = own.pick(writers).name
    let made = 600_000 + own.below(end / 3)
    step(made, name, "words")
    step(made + 1_000, name, "sync")
    if own.happens(perMille: 300) {
      step(made + own.within(3_600_000...end / 3), name, "words", ["anew"])
    }
    guard own.happens(perMille: 600) else { return }
    // Newer keys than those that the words were given first.
    let lost = end / 2 + own.below(end / 4)
    switch own.below(3) {
    case 0: step(lost, name, "destroy")
    case 1:
      step(lost, name, "stop")
      step(lost + own.within(3_600_000...end / 4), name, "start")
    default: break
    }
    let back = "\(name)Anew"
    let words = [name, back] + (own.happens(perMille: 500) ? ["revoke-others"] : [])
    for retry in 0..<4 {
      let at = lost + 3_600_000 * (1 + 2 * retry)
      step(at, "world", "recover", words)
      step(at + 1_800_000, back, "sync")
      step(at + 1_801_000, back, "complete", ["c0"])
      step(at + 1_802_000, back, "tally", ["k0", "add", "1"])
      step(at + 1_803_000, back, "sync")
    }
  }
}
