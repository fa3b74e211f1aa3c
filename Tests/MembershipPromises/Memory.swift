/// Remembers what the resolver answered to a set of acts.
///
/// Only for a search where many histories have the same acts. What looks at the order of acts must
/// not ask it.
final class Memory {
  private static let limit = 200_000
  private var outcomes: [UInt64: Outcome] = [:]

  func outcome(_ acts: [Act], _ resolve: Resolve) -> Outcome {
    var key: UInt64 = 0
    for act in acts { key ^= act.key(in: acts) }
    if let known = outcomes[key] { return known }
    let made = resolve(acts)
    if outcomes.count >= Self.limit { outcomes.removeAll(keepingCapacity: true) }
    outcomes[key] = made
    return made
  }
}

extension Act {
  /// A number that does not depend on how many acts were written before this one.
  func key(in acts: [Act]) -> UInt64 {
    func mix(_ number: Int, _ key: UInt64) -> UInt64 {
      var random = SplitMix64(seed: key ^ UInt64(bitPattern: Int64(number)))
      return random.next()
    }
    var key = mix(sequence, mix(device, 1))
    if time != 0 { key = mix(time, key) }
    for (device, count) in claims.sorted(by: { $0.key < $1.key }) where count > 0 {
      key = mix(count, mix(device, key))
    }
    return mix(deed.number(in: acts), key)
  }
}

extension Deed {
  /// A number that tells deeds apart; acts are named by their places in logs.
  fileprivate func number(in acts: [Act]) -> Int {
    func place(_ id: Int) -> Int {
      let act = acts.first { $0.id == id }
      return act.map { $0.device * 1_000 + $0.sequence } ?? -1
    }
    switch self {
    case .found: return 1
    case .invite(let id, _, _, _, _, _): return 2 + id << 8
    case .close(let link): return 3 + link << 8
    case .join(let link, let person): return 4 + link << 8 + person << 20
    case .admit(let link, let device, _): return 5 + link << 8 + device << 20
    case .confirm(let device): return 6 + device << 8
    case .confirmHandover(let accept): return 7 + place(accept) << 8
    case .remove(let person): return 8 + person << 8
    case .revoke(let device): return 9 + device << 8
    case .setRole(let person, let role): return 10 + person << 8 + role.rawValue << 20
    case .leave: return 11
    case .setWords(let words, _): return 12 + words << 8
    case .recover(_, let words, _): return 13 + words << 8
    case .offer(let person, _): return 14 + person << 8
    case .withdraw: return 15
    case .accept(let offer): return 16 + place(offer) << 8
    case .seal(let key, _): return 18 + key << 8
    case .heartbeat: return 17
    }
  }
}
