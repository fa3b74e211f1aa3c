import HearthCRDT
import HearthMembership
import HearthStore
import HearthSync
import Household

/// What a scenario expects of the world, in its own words.
///
/// Most are a question, its subject and the answer: `expect points Ada 5 on Ben`. Without `on`
/// everybody who runs the current program is asked. A number may be `>=5` or `<=5`; an answer of
/// several words stands in quotes; nothing is `-`.
extension World {
  func expect(_ step: Step) throws {
    var words = step.words
    var asked: [SimDevice]?
    if words.count >= 2, words[words.count - 2] == "on" {
      guard let one = device(named: words[words.count - 1]) else {
        throw wrong(step, nil, "there is no such device")
      }
      asked = [one]
      words.removeLast(2)
    }
    guard let what = words.first else { throw wrong(step, nil, "expect what?") }
    words.removeFirst()
    if try expectOfAll(what, words, step) { return }
    let everybody = try members().filter { !$0.isOldBuild }
    guard let wanted = words.last else { throw wrong(step, nil, "no answer is given") }
    let subject = Array(words.dropLast())
    for device in asked ?? everybody {
      let shown: String?
      do {
        shown =
          try askPeople(what, subject, device) ?? askPerson(what, subject, device)
          ?? askChore(what, subject, device) ?? askRelay(what, subject, device)
          ?? askChallenges(what, device) ?? askDevice(what, subject, device)
      } catch let violation as Violation {
        throw violation
      } catch {
        throw wrong(step, device, "\(error)")
      }
      guard let shown else { throw wrong(step, device, "this cannot be asked so") }
      guard World.matches(shown, wanted) else { throw wrong(step, device, "shows \(shown)") }
    }
  }

  private func wrong(_ step: Step, _ device: SimDevice?, _ text: String) -> Violation {
    fail(.expectation, device, "\(step.line): \(text)")
  }

  private static func matches(_ shown: String, _ wanted: String) -> Bool {
    if wanted.hasPrefix(">="), let least = Int(wanted.dropFirst(2)), let number = Int(shown) {
      return number >= least
    }
    if wanted.hasPrefix("<="), let most = Int(wanted.dropFirst(2)), let number = Int(shown) {
      return number <= most
    }
    return shown == wanted
  }

  /// The devices that run and believe to belong to the household.
  func members() throws -> [SimDevice] {
    try members(of: devices.filter { $0.home != nil && $0.running != nil })
  }

  /// Those of the devices that belong to the household.
  ///
  /// Not who joined in a way that has no effect, as by an invitation that was closed at the same
  /// time, under keys that were old already: nobody hands it the key under which it could read of
  /// that. Nor who was removed and
  /// has only a relay to learn it from: that one lets it in no more, which is all it is told.
  func members(of devices: [SimDevice]) throws -> [SimDevice] {
    let all = try devices.filter { try $0.isMember() }
    let insiders = all.filter { !$0.isShutOut }
    let believers = try all.filter { device in
      try !device.isShutOut
        || !insiders.contains { try !$0.membership().isActive(device.deviceID) }
    }
    let informed = try believers.filter { try !$0.mayWaitForMembers() }
    return try believers.filter { device in
      guard try device.waitsForMembersKeys(), !informed.isEmpty else { return true }
      // Nobody vouches for themselves: two who hold each other for removed both know enough.
      let others = informed.filter { $0.person != device.person }
      let isKnown =
        try others.isEmpty || others.contains { try device.isKnown(to: $0, in: self) }
      if !isKnown { SimProbe.neverToldOfClosing.hit() }
      return isKnown
    }
  }

  // MARK: The family as a whole

  private func expectOfAll(_ what: String, _ words: [String], _ step: Step) throws -> Bool {
    let members = try members()
    switch what {
    case "equal":
      guard try areEqual(members) else { throw wrong(step, nil, "they are not") }
    case "different":
      guard try !areEqual(members) else { throw wrong(step, nil, "they are equal") }
    case "converge":
      let rounds = words.last.flatMap { Int($0) } ?? 3
      guard try converge(members, within: rounds) else {
        throw wrong(step, nil, "they do not agree after \(rounds) rounds")
      }
    case "quiet":
      let published = devices.map(\.folder.publishedFiles)
      let received = ledger.received
      let given = relayStores
      for device in members { try sync(device) }
      let files = zip(devices.map(\.folder.publishedFiles), published).reduce(0) {
        $0 + $1.0 - $1.1
      }
      guard files == 0, ledger.received == received, relayStores == given else {
        throw wrong(
          step, nil,
          "\(files) files and \(relayStores - given) entries were stored, "
            + "\(ledger.received - received) changes taken")
      }
    case "fails": try expectFailure(words, step)
    default: return false
    }
    return true
  }

  /// The same changes everywhere, and the same state made of them.
  private func areEqual(_ members: [SimDevice]) throws -> Bool {
    guard let first = members.first else { return true }
    let wanted = checker.frontiers(of: first)
    guard members.allSatisfy({ checker.frontiers(of: $0) == wanted }) else { return false }
    guard let home = first.home else { return true }
    let digests = try members.map { device in
      let engine = try device.engine()
      return try engine.store.read { try engine.digest(of: home) }
    }
    return digests.allSatisfy { $0 == digests[0] }
  }

  /// Everybody syncs, all that may be carried is carried, so many times.
  private func converge(_ known: [SimDevice], within rounds: Int) throws -> Bool {
    var members = known
    for _ in 0..<rounds {
      for device in devices where device.home != nil && device.running != nil {
        try sync(device)
      }
      members = try self.members()
      var before = -1
      while before != devices.reduce(0, { $0 + $1.folder.log.count }) {
        before = devices.reduce(0) { $0 + $1.folder.log.count }
        for place in carriers.indices where carriers[place].isUp { carryAll(place) }
      }
      if try areEqual(members) { return true }
    }
    return try areEqual(members)
  }

  /// `expect fails CODE DEVICE verb words…`.
  private func expectFailure(_ words: [String], _ step: Step) throws {
    guard words.count >= 3, let device = device(named: words[1]) else {
      throw wrong(step, nil, "expect fails CODE DEVICE verb words…")
    }
    let tried = Step(at: step.atMilliseconds, words[1], words[2], Array(words.dropFirst(3)))
    do {
      if World.peopleVerbs.contains(tried.verb) {
        try arrange(tried, device)
      } else {
        _ = try commands.perform(tried, on: device, at: now)
      }
    } catch {
      let code = Words.code(of: error)
      guard code == words[0] else { throw wrong(step, device, "fails with \(code): \(error)") }
      return
    }
    throw wrong(step, device, "it does not fail")
  }
}
