import HearthCRDT
import HearthCrypto
import HearthMembership

/// Applies changes of one zone to its records, within one transaction of the store.
///
/// Records are read once in order of key, changed in memory, and written back in order of key. A
/// B-tree scan in order costs a fraction of random access.
struct Applier<S: Store> {
  private let zone: ZoneID
  private let store: S
  private let policy: RolePolicy
  /// The prepared records, in order of key.
  private var slots: [RecordChange] = []
  /// The index of each prepared record.
  private var places: [RecordKey: Int] = [:]
  private var events: [(RecordKey, EventState)] = []
  /// What changes of a control zone only report.
  private var reports = DeviceReports()
  /// The people whose status decided whether a change has effect.
  private var subjects: Set<PersonID> = []
  /// The changes that were found void by their content.
  private(set) var voids: [VoidChange] = []
  /// For each author, a record into which the author wrote more than allowed.
  private(set) var overfull: [Author: RecordKey] = [:]

  init(zone: ZoneID, store: S, policy: RolePolicy) {
    self.zone = zone
    self.store = store
    self.policy = policy
  }

  /// Reads the records that the changes touch; called once between two flushes.
  mutating func prepare(for changes: some Sequence<Change>) throws {
    precondition(slots.isEmpty, "records are prepared once, \(slots.count) are here already")
    var keys: [RecordKey] = []
    var last: Author?
    let zones = store.zones
    for change in changes {
      if change.dot.author != last { try zones.learn([change.dot.author]) }
      last = change.dot.author
      // A change may cite an author whose held-back changes are missing here.
      if !change.seen.isEmpty { try zones.learn(change.seen.heads.map(\.author)) }
      for operation in change.operations where !operation.key.type.isEvent {
        // The operations of a change are often about one record.
        if keys.last != operation.key { keys.append(operation.key) }
      }
    }
    keys.sort()
    for key in keys where slots.last?.key != key {
      places[key] = slots.count
      slots.append(RecordChange(key: key, state: RecordState(), isNew: true))
    }
    let present = try store.records.states(of: slots.map(\.key), in: zone)
    for (place, state) in present.enumerated() {
      guard let state else { continue }
      slots[place] = RecordChange(key: slots[place].key, state: state, isNew: false)
    }
  }

  /// Applies a change whose records were prepared.
  ///
  /// A change of records is one transaction and is applied completely or not at all, so nobody ever
  /// sees a part of it. The whole change is void if its author's role does not allow all of it, if
  /// a program cannot have written one of its operations, or if it would put more into a record
  /// than one author may. An event whose id does not match its position in its author's log is such
  /// an impossible operation: nobody can create or change another author's events.
  ///
  /// - Parameters:
  ///   - past: Everything that the author had seen, including its own earlier changes.
  ///   - judgement: The judgement of the change; nil in a control zone, whose operations are judged
  ///     one by one when the membership is resolved.
  ///   - writer: The author; nil in a control zone, and for a stranger.
  ///   - standing: The status of a person in the group as the author knew it.
  mutating func apply(
    _ change: Change, past: Frontier, as judgement: Judgement?, by writer: ChangeAuthor?,
    standing: (PersonID) -> PastStanding?
  ) throws {
    let person = writer?.person
    if let judgement, !counts(change, judgement, person, standing),
      !Mutant.countsByHalves.isActive
    {
      return
    }
    let version = Version(dot: change.dot, time: change.time)
    if judgement == nil, let heartbeat = DeviceReports.heartbeat(in: change) {
      return reports.note(heartbeat, by: version)
    }
    let overfilled = overfilled(by: change, of: writer)
    if let key = overfilled {
      overfull[change.dot.author] = overfull[change.dot.author] ?? key
      if judgement != nil {
        Probe.transactionVoid.hit()
        voids.append(VoidChange(dot: change.dot, role: nil, cause: .beyondLimit(key)))
        return
      }
    }
    for (index, operation) in change.operations.enumerated()
    where judgement != nil || fits(operation, at: index, of: change.dot) {
      if Mutant.countsByHalves.isActive, let judgement {
        guard case .counts(let role) = judgement, policy.allows(operation, as: role, by: person)
        else { continue }
      }
      let key = operation.key
      if case .event(let fields) = operation.body {
        let cause = key.type.keepsCause ? past : nil
        events.append((key, EventState(version: version, cause: cause, fields: fields)))
        continue
      }
      // Operations of a control zone are events; of an overfull change, only the events count.
      if overfilled != nil { continue }
      guard let place = places[key] else {
        preconditionFailure("record \(key) was not prepared")
      }
      if slots[place].state.needsShownValue(for: operation.body, past: past) {
        try store.records.supplyShownValues(to: &slots[place].state, of: key, in: zone)
      }
      slots[place].state.apply(operation.body, version: version, past: past)
    }
  }

  /// A record into which a change would put more than its author may; nil if the change respects
  /// the limits of every record.
  private func overfilled(by change: Change, of writer: ChangeAuthor?) -> RecordKey? {
    let limits = RecordLimits.standard
    let room = limits.room(of: change.dot.author, isFurther: writer?.isFurther ?? false)
    let counted = change.operations.filter { limits.mayLimit($0.body) }
    guard let first = counted.first else { return nil }
    let byKey =
      counted.allSatisfy { $0.key == first.key }
      ? [first.key: counted] : Dictionary(grouping: counted, by: \.key)
    return byKey.keys.sorted().first { key in
      guard let place = places[key], let operations = byKey[key] else { return false }
      return !limits.admit(
        operations.lazy.map(\.body), of: change.dot, within: room, to: slots[place].state)
    }
  }

  /// Stores whose status decided, so that the zone is judged again when a status changes.
  ///
  /// The number of people is at most the number of events of those types.
  private mutating func noteSubjects() throws {
    guard !subjects.isEmpty else { return }
    let fact = SubjectsFact.subjects(of: zone)
    let known = Set(try store.facts.value(of: fact) ?? [])
    if !subjects.isSubset(of: known) {
      try store.facts.set(fact, to: known.union(subjects).sorted())
    }
    subjects = []
  }

  /// Whether a change of records counts; it counts completely or not at all.
  private mutating func counts(
    _ change: Change, _ judgement: Judgement, _ person: PersonID?,
    _ standing: (PersonID) -> PastStanding?
  ) -> Bool {
    guard case .counts(let role) = judgement else { return false }
    let areWhole = change.operations.enumerated().allSatisfy {
      fits($0.element, at: $0.offset, of: change.dot)
    }
    var isAllowed = true
    for operation in change.operations {
      guard policy.allows(operation, as: role, by: person) else {
        isAllowed = false
        continue
      }
      subjects.formUnion(policy.subjects(of: operation))
      isAllowed = isAllowed && policy.mayDecide(operation, as: role, standing)
    }
    if Mutant.foldsAnyRole.isActive { isAllowed = true }
    guard areWhole && isAllowed else {
      Probe.transactionVoid.hit()
      voids.append(
        VoidChange(dot: change.dot, role: role, cause: areWhole ? .beyondRole : .malformed))
      return false
    }
    return true
  }

  /// Whether an operation fits its type, and an event has the id of its position.
  private func fits(_ operation: Operation, at index: Int, of dot: Dot) -> Bool {
    guard operation.isWellFormed else { return false }
    guard case .event = operation.body else { return true }
    return operation.key.id == eventID(in: zone, type: operation.key.type, dot: dot, index: index)
  }

  /// Writes everything back and updates the projections.
  mutating func flush() throws {
    // A prepared record with only void operations stays unwritten.
    try store.records.save(slots.filter { !$0.isNew || !$0.state.isUntouched }, in: zone)
    events.sort { $0.0 < $1.0 }
    try store.records.insert(events, in: zone)
    try store.projections.update(
      for: slots.map(\.key) + events.map(\.0), in: zone)
    try noteSubjects()
    try DeviceReports.keep(reports, of: zone, in: store)
    reports = DeviceReports()
    slots.removeAll()
    places.removeAll()
    events.removeAll()
  }
}

extension RecordState {
  /// Whether nothing was ever applied to the record.
  var isUntouched: Bool { life.writes.isEmpty && life.deletes.isEmpty }
}

/// The people whose status decided in a zone.
enum SubjectsFact {
  static func subjects(of zone: ZoneID) -> Fact<[PersonID]> {
    Fact("subjects.\(zone.hex)") { people in
      people.flatMap(\.bytes)
    } decode: { bytes in
      var reader = ByteReader(bytes)
      return try (0..<bytes.count / Identifier.byteCount).map { _ in
        try reader.identifier("subject")
      }
    }
  }
}
