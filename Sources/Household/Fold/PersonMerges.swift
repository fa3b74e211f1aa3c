import HearthCRDT
import HearthSync

/// The merged people: the only place where two people of one household become one.
///
/// A person who was removed and invited again is two people in the records, which are never
/// rewritten. An admin or the owner merges one into the other, and every lookup of a person's id
/// uses ``one(_:)``. The merges are events that only they may write (``HouseholdSchema``'s policy),
/// so all are kept. For one person the last merge applies, by version; a merge that would close a
/// cycle and is the last of it has no effect. So the same events give the same people on every
/// device, in any order of arrival.
package struct PersonMerges: Equatable, Sendable {
  /// The final person of each merge chain; only merged people have an entry.
  private let ends: [PersonID: PersonID]

  /// No merged people.
  package static let none = PersonMerges([])

  /// Reads the merges of a zone.
  init(source: any ProjectionSource) throws {
    self.init(try PersonMerge.all(in: source))
  }

  /// Computes the result of merges, which may be in any order.
  init(_ merges: [PersonMerge]) {
    var last: [PersonID: PersonMerge] = [:]
    for merge in merges {
      if let other = last[merge.person], merge.isBefore(other) { continue }
      last[merge.person] = merge
    }
    var next: [PersonID: PersonID] = [:]
    func end(of person: PersonID) -> PersonID {
      var end = person
      while let further = next[end] { end = further }
      return end
    }
    for merge in last.values.sorted(by: { $0.isBefore($1) }) {
      guard let other = merge.into, end(of: other) != merge.person else { continue }
      next[merge.person] = other
    }
    ends = Dictionary(uniqueKeysWithValues: next.keys.map { ($0, end(of: $0)) })
  }

  /// Returns the person into whom somebody was merged; most people stand for themselves.
  package func one(_ person: PersonID) -> PersonID { ends[person] ?? person }

  /// Returns the people merged into a person, in order of id, without the person.
  package func others(countingAs person: PersonID) -> [PersonID] {
    ends.filter { $0.value == person }.keys.sorted()
  }

  /// Returns an assignment that lists each person once.
  ///
  /// A person merged into an earlier one in a rotation has no turn of their own.
  func one(_ assignment: Assignment) -> Assignment {
    guard !ends.isEmpty else { return assignment }
    switch assignment {
    case .nobody: return .nobody
    case .person(let person): return .person(one(person))
    case .rotation(let people, let kind):
      var order: [PersonID] = []
      for person in people.map({ one($0) }) where !order.contains(person) { order.append(person) }
      return .rotation(order, kind)
    }
  }
}

/// A statement that a person counts as another one, or as themselves again.
package struct PersonMerge: Equatable, Sendable {
  package let event: RecordID
  /// The merged person.
  package let person: PersonID
  /// The person into whom they are merged; nil undoes the merge.
  package let into: PersonID?
  /// The author, by the signature.
  package let by: PersonID
  /// The time and device.
  package let version: Version

  init(
    event: RecordID, person: PersonID, into: PersonID?, by: PersonID, version: Version
  ) {
    self.event = event
    self.person = person
    self.into = into
    self.by = by
    self.version = version
  }

  /// Reads an event; nil for one that this version cannot interpret.
  init?(_ id: RecordID, _ event: EventState, by author: PersonID) {
    guard let person = event[MergeField.person].identifier else { return nil }
    let into = event[MergeField.into].identifier
    guard into != nil || event[MergeField.into] == .null, into != person else { return nil }
    self.init(event: id, person: person, into: into, by: author, version: event.version)
  }

  /// Returns every statement in a zone, oldest first.
  static func all(in source: any ProjectionSource) throws -> [PersonMerge] {
    let type = HouseholdSchema.personMerge
    return try source.ids(of: type)
      .compactMap { id in
        try source.event(RecordKey(type: type, id: id)).flatMap {
          PersonMerge(id, $0, by: try source.writer(of: $0.version))
        }
      }
      .sorted { $0.isBefore($1) }
  }

  /// A total order that is the same on every device: by version, then by the unique event id.
  func isBefore(_ other: PersonMerge) -> Bool {
    (version, event) < (other.version, other.event)
  }
}
