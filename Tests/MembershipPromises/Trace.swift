/// Acts in words, and smaller histories.
extension History {
  func line(_ act: Act) -> String {
    let person = persons[act.device].map { "p\($0)" } ?? "?"
    let kind = liars.contains(act.device) ? "LIAR" : "honest"
    var text = "#\(act.id) d\(act.device).\(act.sequence) (\(person) \(kind)) \(act.deed.words)"
    if act.time != 0 { text += " at \(act.time)" }
    text += "; claims \(Self.words(act.claims))"
    let really = (known[act.id] ?? [:]).filter { $0.key != act.device }
    if really != act.claims { text += "; really knew \(Self.words(really))" }
    return text
  }

  private static func words(_ counts: [Int: Int]) -> String {
    let parts = counts.keys.sorted().filter { counts[$0] != 0 }
      .map { "d\($0):\(counts[$0] ?? 0)" }
    return parts.isEmpty ? "nothing" : parts.joined(separator: " ")
  }

  /// Without one act: later acts of its log move up, and claims count one less.
  func without(_ place: Int) -> History {
    let gone = acts[place]
    func shrink(_ counts: [Int: Int]) -> [Int: Int] {
      var result = counts
      if let count = counts[gone.device], count > gone.sequence {
        result[gone.device] = count == 1 ? nil : count - 1
      }
      return result
    }
    var rest: [Act] = []
    for (index, act) in acts.enumerated() where index != place {
      let isLater = act.device == gone.device && act.sequence > gone.sequence
      rest.append(
        act.changing(sequence: act.sequence - (isLater ? 1 : 0), claims: shrink(act.claims)))
    }
    var less = known.mapValues(shrink)
    less[gone.id] = nil
    return History(acts: rest, liars: liars, known: less, persons: persons)
  }
}

extension Deed {
  var words: String {
    switch self {
    case .found: "founds"
    case .invite(let id, let role, let person, let uses, let approval, let expires):
      "issues link \(id) for \(person.map { "a device of p\($0)" } ?? "a \(role)"), "
        + "\(uses) uses\(approval ? ", with approval" : "")"
        + (expires == .max ? "" : ", until \(expires)")
    case .close(let link): "closes link \(link)"
    case .join(let link, let person): "joins by link \(link) as p\(person)"
    case .admit(let link, let device, let person): "admits d\(device) as p\(person) by link \(link)"
    case .confirm(let device): "confirms d\(device)"
    case .confirmHandover(let accept): "confirms the acceptance #\(accept)"
    case .remove(let person): "removes p\(person)"
    case .revoke(let device): "revokes d\(device)"
    case .setRole(let person, let role): "makes p\(person) \(role)"
    case .leave: "leaves"
    case .setWords(let words, let consent):
      "names the words \(words)\(consent.map { " with the words \($0)" } ?? "")"
    case .recover(let person, let words, let others):
      "recovers p\(person) with the words \(words)\(others ? ", revoking the others" : "")"
    case .offer(let person, let words): "offers the ownership to p\(person), words \(words)"
    case .withdraw: "withdraws offers"
    case .accept(let offer): "accepts the offer #\(offer)"
    case .seal(let key, let devices):
      "makes the key \(key) for \(devices.map { "d\($0)" }.joined(separator: " "))"
    case .heartbeat: "says nothing"
    }
  }
}
