/// One thing that a device wrote, as the simulator saw it happen.
package struct ModelFact: Hashable, Sendable {
  package let stamp: ModelStamp
  package let past: ModelPast
  /// The place of the operation in its change.
  package let place: Int
  package let kind: ModelFactKind

  /// Takes what happened and what its author had seen.
  package init(stamp: ModelStamp, past: ModelPast, place: Int, kind: ModelFactKind) {
    self.stamp = stamp
    self.past = past
    self.place = place
    self.kind = kind
  }

  /// Whether the author of this fact knew the other one.
  ///
  /// Assumption: an author knows the own log before this fact, and of the same change what stands
  /// before it; the requirements speak of changes only.
  package func saw(_ other: ModelFact) -> Bool {
    if other.stamp.author == stamp.author {
      return (other.stamp.sequence, other.place) < (stamp.sequence, place)
    }
    return past.contains(other.stamp)
  }

  /// Whether both were written on one device, in whatever life of it.
  func isOfOneDevice(with other: ModelFact) -> Bool {
    (stamp.author.high, stamp.author.low) == (other.stamp.author.high, other.stamp.author.low)
  }

  /// Whether neither knew the other.
  package func isConcurrent(with other: ModelFact) -> Bool { !saw(other) && !other.saw(self) }

  /// The total order `<` of the requirements, refined by the place in the change.
  package func precedes(_ other: ModelFact) -> Bool {
    stamp == other.stamp ? place < other.place : stamp < other.stamp
  }
}

/// What a fact says.
///
/// Days are civil day numbers, 0 being 1970-01-01.
package enum ModelFactKind: Hashable, Sendable {
  /// A person's name.
  case person(ModelID, name: String)
  /// A person's record was deleted.
  case personDeleted(ModelID)
  /// One field of a chore.
  case choreField(ModelID, ModelChoreField)
  /// A tag put on a chore or taken off.
  case tag(ModelID, String, added: Bool)
  /// Somebody did an occurrence.
  case completion(ModelCompletion)
  /// A completion or skip is taken back on the device of a person who has this role.
  case retraction(event: ModelID, by: ModelID, role: ModelRole)
  /// An occurrence need not be done, by who signed it.
  case skip(event: ModelID, chore: ModelID, key: Int64, by: ModelID, day: Int)
  /// What differs for one occurrence.
  case occurrenceOverride(chore: ModelID, key: Int64, ModelOverride)
  /// A household setting; nil is the default again.
  case setting(String, String?)
}

/// A completion's own words; they never change.
package struct ModelCompletion: Hashable, Sendable {
  package let event: ModelID
  package let chore: ModelID
  /// The occurrence; nil for what is done counted from completion.
  package let key: Int64?
  package let person: ModelID
  /// Whose device signed it.
  package let recordedBy: ModelID
  package let day: Int
  package let doneAtMilliseconds: Int64

  /// Takes the fields of the event; `doneAtMilliseconds` counts from 1970 in UTC.
  package init(
    event: ModelID, chore: ModelID, key: Int64?, person: ModelID, recordedBy: ModelID, day: Int,
    doneAtMilliseconds: Int64
  ) {
    self.event = event
    self.chore = chore
    self.key = key
    self.person = person
    self.recordedBy = recordedBy
    self.day = day
    self.doneAtMilliseconds = doneAtMilliseconds
  }
}

/// The value that one field of a chore was given.
package enum ModelChoreField: Hashable, Sendable {
  case title(String)
  case points(Int)
  case assignment(ModelAssignment)
  case due(Int?)
  case time(Int?)
  case rule(ModelRule?)
  /// The day the rule was written: it holds from then on.
  case ruleFrom(Int?)
  case archived(Bool)
  /// Something else of it, such as a note: there is such a chore.
  case other
}

/// What was changed about one occurrence; nil goes back to what the chore says.
package enum ModelOverride: Hashable, Sendable {
  case due(Int?)
  case assignee(ModelID?)
  case skipped(Bool)
}

/// Who is to do a chore.
package enum ModelAssignment: Hashable, Sendable {
  case nobody
  case person(ModelID)
  case rotation([ModelID], ModelTurn)
}

/// How turns are taken (R18); the random kind is not modelled.
package enum ModelTurn: Hashable, Sendable {
  case byDate
  case byTurn
  case leastDone
}

/// What a person may do.
package enum ModelRole: Hashable, Sendable {
  case reader
  case child
  case member
  case admin
  case owner
}
