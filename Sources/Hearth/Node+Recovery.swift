import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// What a node knows about its person's recovery words.
package enum WordsState: Equatable, Sendable {
  /// There are none.
  case none
  /// There are some, which were confirmed when they were made.
  case set
}

/// What typed words are to this node.
package enum WordsVerdict: Equatable, Sendable {
  /// The person's.
  case right
  /// Words of somebody or something else, or such as were replaced.
  case other
  /// The person has none.
  case none
}

// The recovery words of this node's person: made, checked, replaced, and kept usable.
extension Node {
  /// The groups that this device belongs to, with the keys of the person's words in each: the
  /// households, and with them the private database, unless another one is about to take its place.
  func ownGroups() throws -> [(id: GroupID, keys: ControlOperation.RecoveryKeys?)] {
    let own = households().filter { membership(of: $0).isActive(device) }
    guard !own.isEmpty else { return [] }
    let isInPlace = try !awaitsPrivate()
    return (own + (isInPlace ? [ownPrivateGroup()].compactMap { $0 } : [])).map { group in
      (group, membership(of: group).recoveryKeys(of: person))
    }
  }

  /// Whether the person has recovery words.
  package func wordsState() throws -> WordsState {
    try ownGroups().contains { $0.keys != nil } ? .set : .none
  }

  /// Puts words in force in every household of the person and in the private database, and the
  /// capsule on every transport.
  ///
  /// Call it when the person has shown that the words are written down: they cannot be replaced
  /// without them. From then on every key is wrapped to them too, the present ones by new epochs
  /// that lead to those before.
  ///
  /// - Returns: what came of bringing it to the transports.
  /// - Throws: `exists` if there are some; `notFound` while there is no household.
  package func setWords(_ words: PersonWords) throws -> SyncReport {
    try foundPrivate()
    let groups = try ownGroups()
    guard !groups.isEmpty else {
      throw HearthError(
        .notFound, "there is nothing to recover yet: create or join a household first")
    }
    guard try wordsState() == .none else {
      throw HearthError(
        .exists,
        "you have recovery words, and no device keeps them, so they cannot be shown again: "
          + "`hearth words rotate` makes new ones")
    }
    let root = try words.words.root()
    var draft = engine
    try store.transaction {
      draft = engine
      for group in groups {
        try draft.setRecovery(
          sign: root.publicKeys.sign, box: root.publicKeys.box, in: group.id,
          nowMilliseconds: now())
      }
      try keep(root)
    }
    engine = draft
    return try sync()
  }

  /// Says whether words are the person's.
  package func check(_ words: PersonWords) throws -> WordsVerdict {
    let keys = try ownGroups().compactMap(\.keys)
    guard !keys.isEmpty else { return .none }
    let own = try words.words.root().publicKeys
    return keys.allSatisfy { $0.sign == own.sign && $0.box == own.box } ? .right : .other
  }

  /// Replaces the person's words in every household.
  ///
  /// The old ones sign it, and open nothing that comes after. Their capsule leaves the transports.
  ///
  /// - Throws: `notAllowed` if the old words are not the person's.
  package func rotateWords(_ old: PersonWords, to new: PersonWords) throws -> SyncReport {
    let former = try old.words.root()
    let groups = try ownGroups().filter { $0.keys?.sign == former.publicKeys.sign }
    guard !groups.isEmpty else {
      throw HearthError(
        .notAllowed,
        try wordsState() == .none
          ? "you have no recovery words yet: `hearth words show` makes them"
          : "these are not your present recovery words: look at the latest sheet")
    }
    let root = try new.words.root()
    var draft = engine
    try store.transaction {
      draft = engine
      for group in groups {
        try draft.rotateRecovery(
          sign: root.publicKeys.sign, box: root.publicKeys.box, in: group.id,
          consent: { .recovery(signature: former.sign(domain: $0, $1)) }, nowMilliseconds: now())
      }
      try keep(root)
    }
    engine = draft
    let report = try sync()
    let place = try Node.capsuleName(former.capsuleAccess)
    for setting in try transports() {
      guard let transport = try? transport(setting.path) else { continue }
      lay(place.scope, in: try .recovery(former.capsuleAccess, mayCreate: false), on: transport)
      try? transport.remove(place)
    }
    return report
  }

  // MARK: Warning

  /// Why the others of a group do not take this device, though it joined; nil where they do.
  package func entryRefusal(to group: GroupID) -> String? { engine.entryRefusal(to: group) }

  /// What to tell the owner of a group who would lose it with one device, and somebody who joined
  /// by an invitation that was closed meanwhile; nil where all is well.
  package func riskWarning(of group: GroupID) -> String? {
    if let reason = engine.entryRefusal(to: group) {
      return "this device joined, and the others do not take it: \(reason); ask for a new "
        + "invitation"
    }
    let membership = membership(of: group)
    guard ending(in: group) == nil, membership.owner == person, membership.isAtRisk(person) else {
      return nil
    }
    return "this is your only device and you have no recovery words: if it is lost, nobody can "
      + "manage the household any more; run `hearth words show`"
  }
}
