import HearthCRDT
import HearthSync

/// Whom each person counts as: the one place where two people of one household become one.
///
/// Whoever was removed and invited again is two people to the records, which are never rewritten.
/// An admin or the owner says that one counts as the other, and every reading of a person's id goes
/// through ``one(_:)``. The words are events that only they may write (``HouseholdSchema``'s
/// policy), so all are kept. Of those about one person the last holds, by version; of those that
/// would make a circle the last has no effect. So the same events give the same people on every
/// device, in whatever order they came.
package struct PersonMerges: Equatable, Sendable {
  /// Whom a person counts as, the ends of chains: only those who count as somebody else.
  private let ends: [PersonID: PersonID]

  /// Nobody counts as somebody else.
  package static let none = PersonMerges([])

  /// Reads those of a zone.
  init(source: any ProjectionSource) throws {
    self.init(try PersonMerge.all(in: source))
  }

  /// Those that follow from what was said, in any order.
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

  /// The person as whom somebody counts; most count as themselves.
  package func one(_ person: PersonID) -> PersonID { ends[person] ?? person }

  /// Those who count as a person, in order of id, the person left out.
  package func others(countingAs person: PersonID) -> [PersonID] {
    ends.filter { $0.value == person }.keys.sorted()
  }

  /// An assignment in which everybody stands once: who counts as somebody who comes earlier in a
  /// rotation has no turn of their own.
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

/// Somebody said that a person counts as another one, or as themselves again.
package struct PersonMerge: Equatable, Sendable {
  package let event: RecordID
  /// Who counts as somebody else.
  package let person: PersonID
  /// As whom; nil where the person is to count as themselves again.
  package let into: PersonID?
  /// Who said it, by the signature.
  package let by: PersonID
  /// When, and on which device.
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

  /// Reads an event; nil for one that says nothing here, which a newer version may have written.
  init?(_ id: RecordID, _ event: EventState, by author: PersonID) {
    guard let person = event[MergeField.person].identifier else { return nil }
    let into = event[MergeField.into].identifier
    guard into != nil || event[MergeField.into] == .null, into != person else { return nil }
    self.init(event: id, person: person, into: into, by: author, version: event.version)
  }

  /// Everything that was said in a zone, oldest first.
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

  /// The same on every device: by version, then by what no two events share.
  func isBefore(_ other: PersonMerge) -> Bool {
    (version, event) < (other.version, other.event)
  }
}
