/// Which numbers of people tell who made them, from a stream of numbers of its own: what the seed
/// tells besides stays as it is.
struct Makers {
  var random: SplitMix64
  /// Numbers that a device's own took the place of.
  private(set) var unused: Set<Int> = []

  init(seed: UInt64) { random = SplitMix64(seed: seed ^ 0x3C6E_F372_FE94_F82B) }

  /// The number of a new person: the one that was drawn, or one that the person's device makes.
  mutating func number(_ drawn: Int, of device: Int) -> Int {
    guard random.chance(60) else { return drawn }
    unused.insert(drawn)
    return Maker.person(of: device)
  }
}

extension Story {
  /// A number that somebody's device made, for a liar who comes under it.
  mutating func stolenNumber() -> Int? {
    guard makers.random.chance(25) else { return nil }
    return makers.random.pick(people(trueView()).filter { Maker.device(of: $0) != nil })
  }

  /// A liar of rank confirms who came under somebody else's number.
  mutating func abet(_ thief: Int, _ joining: Int) {
    let truth = trueView()
    let ranked = liars.filter { liar in
      liar != thief && isActive(liar, truth)
        && person(liar).flatMap { role($0, truth) }?.rank ?? 0 >= Role.admin.rank
    }
    guard !isFull, makers.random.chance(70), let liar = makers.random.pick(ranked) else { return }
    write(liar, .confirm(device: thief), .asOf(joining))
  }
}
