import HearthCRDT
import HearthCrypto
import HearthMembership

/// Another device that has the same changes and reports other records.
package struct StateDifference: Equatable, Sendable {
  package let zone: ZoneID
  package let device: DeviceID
  /// Device and person in words.
  package let name: String
}

// Equal knowledge is checked: devices tell what they hold at a point, and whoever has the same
// point compares; decision 0064 says why it is so.
extension Engine {
  /// How often a device looks at what a zone holds without anybody asking: once a week.
  ///
  /// Nor does it build records anew, or answer, more often for what others say.
  package static var comparisonMilliseconds: UInt64 { 7 * 24 * 60 * 60 * 1_000 }

  /// How seldom a device may say what it holds where there is news and nobody asks: every 90 days,
  /// as a statement stays in the members' log for ever.
  package static var statementMilliseconds: UInt64 { 90 * 24 * 60 * 60 * 1_000 }

  /// How often it does so in a group of some people: once in four weeks for each of them, so that
  /// all of them together make about one statement in four weeks.
  package static func statementInterval(people: Int) -> UInt64 {
    min(statementMilliseconds, 4 * comparisonMilliseconds * UInt64(max(1, people)))
  }

  /// How soon a device looks and says what it holds after something by which devices may have come
  /// to hold different records: a day, in which all of them have mostly received the same.
  package static var riskMilliseconds: UInt64 { 24 * 60 * 60 * 1_000 }

  /// How often it looks as others ask: once an hour, as a look costs O(zone).
  package static var lookMilliseconds: UInt64 { 60 * 60 * 1_000 }

  /// Compares what a zone holds here with what others said, mends what was wrong here, and tells
  /// what it holds where that is due.
  ///
  /// - Parameter isComplete: whether every transport was read without failure.
  mutating func compareState(
    of id: ZoneID, isComplete: Bool, nowMilliseconds now: UInt64
  ) throws {
    let zone = try zone(id)
    guard zone.kind == .data else { return }
    let before = try comparison(of: id)
    var known = before
    // The first look is a week away: what was just received was just worked out.
    if known.lookedMilliseconds == 0 { known.lookedMilliseconds = now }
    let said = membership(of: zone.group).zoneStatements(of: id).filter { $0.device != device }
    let news = said.filter { known.peer($0.device)?.statement != $0.id }
    let isDue =
      isComplete && Engine.hasPassed(Engine.comparisonMilliseconds, known.lookedMilliseconds, now)
    if isDue || !news.isEmpty, let mark = try comparisonMark(of: zone) {
      let isAsked = news.contains { $0.content.mark == mark }
      if isDue || isAsked { try look(at: id, mark, isDue: isDue, now, &known) }
      for statement in news { try compare(statement, at: mark, now, &known) }
      try tell(id, at: mark, besides: said, isDue: isDue, now, &known)
    }
    guard known != before else { return }
    let membership = membership(of: zone.group)
    known.keep { membership.isActive($0) }
    try store.transaction { try store.facts.set(Engine.comparisonFact(id), to: known.bytes) }
  }

  /// Makes the next look at a data zone due within a day, and a statement with it, as devices may
  /// have come to hold different records: by a rebuild, a fork, a false claim, or a snapshot that
  /// this device began from.
  ///
  /// Others can make that happen as often as they like: a device still says what it holds once a
  /// week at most, and looks once a day. The caller has a transaction open.
  func compareSoon(_ zone: ZoneState, nowMilliseconds now: UInt64) throws {
    guard zone.kind == .data else { return }
    let kept = try store.facts.value(of: Engine.comparisonFact(zone.id))
    // Nothing is to fail here because of what is remembered of comparing.
    var known = kept.flatMap { try? StateComparison($0) } ?? StateComparison()
    known.owe(by: now + Engine.riskMilliseconds, every: Engine.comparisonMilliseconds)
    guard known.bytes != kept else { return }
    try store.facts.set(Engine.comparisonFact(zone.id), to: known.bytes)
  }

  /// The devices that have the same changes of a zone and report other records, in order.
  package func stateDifferences(in id: ZoneID) throws -> [StateDifference] {
    let zone = try zone(id)
    let membership = membership(of: zone.group)
    return try comparison(of: id).peers.filter { $0.differs && membership.isActive($0.device) }
      .map {
        StateDifference(zone: id, device: $0.device, name: nameWithPerson($0.device, in: zone))
      }
  }

  private func comparison(of zone: ZoneID) throws -> StateComparison {
    guard let bytes = try store.facts.value(of: Engine.comparisonFact(zone)) else {
      return StateComparison()
    }
    return try StateComparison(bytes)
  }

  private static func comparisonFact(_ zone: ZoneID) -> String { "compared.\(zone.hex)" }

  /// A clock that was set back counts as one that went on.
  private static func hasPassed(_ span: UInt64, _ since: UInt64, _ now: UInt64) -> Bool {
    now < since || now - since >= span
  }

  // MARK: What is compared

  /// Stands for everything that decides what a zone holds: the changes here, the operations that
  /// say which of them count, and the program's schema.
  ///
  /// Nil where devices may hold different things with all that equal: where a log of the members'
  /// zone has two histories, and where this device began from a snapshot whose maker may have
  /// judged by less, as something before it was taken back.
  func comparisonMark(of zone: ZoneState) throws -> Identifier? {
    guard !zone.frontier.isEmpty,
      let operations = membership(of: zone.group).decidingOperations(withContents: false),
      try !isAnythingVoid(in: zone, heads: zone.heads) || store.snapshots.base(of: zone.id) == nil
    else { return nil }
    var writer = ByteWriter(capacity: operations.count + 64)
    writer.identifier(zone.id)
    writer.identifier(Engine.mark(of: zone.heads, try heldBack(in: zone)))
    writer.varint(UInt64(schemaVersion))
    writer.raw(operations)
    return derivedIdentifier("HRTH/compared-point/v1", writer.bytes)
  }

  /// The digest of what a zone holds and of what decides about it; nil if it cannot be read.
  private func comparedDigest(of id: ZoneID) throws -> [UInt8]? {
    let zone = try zone(id)
    do {
      guard let deciding = membership(of: zone.group).decidingOperations(withContents: true) else {
        return nil
      }
      var hasher = Blake2b.Hasher(count: ControlOperation.ZoneDigest.digestBytes)
      hasher.update(Array("HRTH/compared/v1".utf8))
      hasher.update(try digest(of: id))
      hasher.update(deciding)
      return hasher.finalize()
    } catch is CodecError {
      return nil
    } catch let error as any StoredDamage where error.isDamage {
      return nil
    }
  }

  // MARK: Looking

  /// Works out what a zone holds, and mends what changed without a change.
  private mutating func look(
    at id: ZoneID, _ mark: Identifier, isDue: Bool, _ now: UInt64, _ known: inout StateComparison
  ) throws {
    let last = known.looks.last?.milliseconds
    guard isDue || last.map({ Engine.hasPassed(Engine.lookMilliseconds, $0, now) }) ?? true
    else { return }
    if isDue { known.lookedMilliseconds = now }
    let kept = known.digest(at: mark)
    var digest = try comparedDigest(of: id)
    if digest == nil || kept.map({ $0 != digest }) ?? false {
      let isRebuilt = try rebuildRecords(around: id, nowMilliseconds: now)
      digest = isRebuilt ? try comparedDigest(of: id) : digest
      let zone = try zone(id)
      try note(
        isRebuilt && digest != nil
          ? "the records of \(zone.name) on this device had changed although no change arrived, as "
            + "on a failing disk: they were rebuilt from the log; run `hearth verify`"
          : "the records of \(zone.name) on this device have changed although no change arrived, "
            + "and cannot be rebuilt: run `hearth verify`",
        about: device, in: zone, now)
    }
    if let digest { known.note(.init(mark: mark, digest: digest, milliseconds: now)) }
  }

  /// Compares one statement with what this device held at its point.
  private mutating func compare(
    _ statement: ZoneStatement, at mark: Identifier, _ now: UInt64, _ known: inout StateComparison
  ) throws {
    let content = statement.content
    guard var own = known.digest(at: content.mark) else { return }
    Probe.stateCompared.hit()
    var peer =
      known.peer(statement.device)
      ?? StateComparison.Peer(device: statement.device, statement: statement.id)
    peer.statement = statement.id
    defer { known.set(peer) }
    peer.differs = own != content.digest
    guard peer.differs else { return }
    let zone = try zone(content.zone)
    let name = nameWithPerson(statement.device, in: zone)
    var isRebuilt = false
    // Nobody makes this device work more than once a week by saying something wrong.
    if content.mark == mark,
      Engine.hasPassed(Engine.comparisonMilliseconds, known.rebuiltMilliseconds, now)
    {
      known.rebuiltMilliseconds = now
      isRebuilt = try rebuildRecords(around: content.zone, nowMilliseconds: now)
      if isRebuilt, let digest = try comparedDigest(of: content.zone), digest != own {
        own = digest
        known.note(.init(mark: mark, digest: digest, milliseconds: now))
        peer.differs = own != content.digest
        try note(
          "the records of \(zone.name) on this device did not match its log, and differed from "
            + "those of \(name), which has the same changes: they were rebuilt"
            + (peer.differs ? "" : ", and match now"),
          about: statement.device, in: zone, now)
      }
    }
    guard peer.differs else { return }
    known.isOwed = true
    guard Engine.hasPassed(Engine.comparisonMilliseconds, peer.toldMilliseconds, now) else {
      return
    }
    peer.toldMilliseconds = now
    try note(
      words(ofDifferenceFrom: name, in: zone, isRebuilt: isRebuilt), about: statement.device,
      in: zone, now)
  }

  private func words(
    ofDifferenceFrom name: String, in zone: ZoneState, isRebuilt: Bool
  ) -> String {
    "\(name) has the same changes of \(zone.name) as this device but reports other records: "
      + (isRebuilt
        ? "the records here match the log, so its records are damaged or its program differs"
        : "run `hearth verify` on both")
      + "; compare with `hearth digest`"
  }

  private func note(
    _ text: String, about device: DeviceID, in zone: ZoneState, _ now: UInt64
  ) throws {
    try store.transaction {
      try store.notices.add(
        Notice(kind: .difference, zone: zone.id, device: device, text: text, milliseconds: now))
    }
  }

  /// A device's name with its person's, unless it contains that.
  func nameWithPerson(_ device: DeviceID, in zone: ZoneState) -> String {
    let name = deviceName(device, in: zone)
    guard let person = membership(of: zone.group).person(of: device)?.name,
      !name.contains(person)
    else { return name }
    return "\(name) (\(person))"
  }

  /// Builds the records of the members' log and of a zone anew; says whether that could be done.
  ///
  /// The log decides: where it is damaged, everything stays as it is. That the rebuild itself calls
  /// for a comparison is forgotten, as the caller compares, and saves what it remembers of that.
  private mutating func rebuildRecords(
    around id: ZoneID, nowMilliseconds: UInt64
  ) throws -> Bool {
    let before = self
    do {
      try store.transaction {
        for zone in [try controlZone(of: try zone(id).group).id, id] {
          try rebuild(zone, nowMilliseconds: nowMilliseconds)
        }
      }
      return true
    } catch {
      self = before
      let isDamage =
        (error as? any StoredDamage)?.isDamage ?? (error is SyncError || error is CodecError)
      guard isDamage else { throw error }
      return false
    }
  }

  // MARK: Telling

  /// Tells the others what a zone holds here: now and then if nobody said so yet, after what may
  /// have made devices differ, and where somebody said something else or this device did.
  private mutating func tell(
    _ id: ZoneID, at mark: Identifier, besides said: [ZoneStatement], isDue: Bool, _ now: UInt64,
    _ known: inout StateComparison
  ) throws {
    let group = try zone(id).group
    // Nobody else would compare it.
    guard membership(of: group).devices.count > 1, let digest = known.digest(at: mark) else {
      return
    }
    let isSaid = said.contains { $0.content.mark == mark && $0.content.digest == digest }
    let interval =
      known.isOwed
      ? Engine.comparisonMilliseconds
      : Engine.statementInterval(people: membership(of: group).people.count)
    if let stated = known.stated, stated.mark == mark {
      guard stated.digest != digest else { return }
    } else if isSaid {
      // Who said it has made everybody compare who is to.
      known.isOwed = false
      return
    } else {
      let last = known.stated?.milliseconds
      guard known.isOwed || isDue, last.map({ Engine.hasPassed(interval, $0, now) }) ?? true
      else { return }
    }
    Probe.stateTold.hit()
    let statement = ControlOperation.ZoneDigest(zone: id, mark: mark, digest: digest)
    _ = try perform([.zoneDigest(statement)], in: group, nowMilliseconds: now)
    known.stated = .init(mark: mark, digest: digest, milliseconds: now)
    known.isOwed = false
  }
}
