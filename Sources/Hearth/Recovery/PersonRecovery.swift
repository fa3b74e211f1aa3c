import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// The recovery words of a node's person: made active, checked and replaced.
struct PersonRecovery: NodeWork {
  let core: NodeCore

  /// Returns the groups of this device, with the keys of the person's words in each.
  ///
  /// They are the households, and the private database unless another one is about to replace it.
  func ownGroups() throws -> [(id: GroupID, keys: ControlOperation.RecoveryKeys?)] {
    let own = households().filter { membership(of: $0).isActive(device) }
    guard !own.isEmpty else { return [] }
    let isInPlace = try !pending.awaitsPrivateDatabase()
    return (own + (isInPlace ? [privateDatabase.ownGroup()].compactMap { $0 } : [])).map {
      group in
      (group, membership(of: group).recovery.recoveryKeys(of: person))
    }
  }

  /// Whether the person has recovery words.
  func state() throws -> WordsState {
    try ownGroups().contains { $0.keys != nil } ? .set : .none
  }

  /// Activates words in every household and the private database of the person.
  ///
  /// Call it after the person has shown that the words are written down: they cannot be replaced
  /// without them. It puts the recovery bundle on every transport. From then on, every key is also
  /// wrapped to the words; the present keys by new epochs that lead to the earlier ones.
  ///
  /// - Throws: `exists` if there are words; `notFound` while there is no household.
  func activate(_ words: PersonWords) throws {
    try privateDatabase.found()
    let groups = try ownGroups()
    guard !groups.isEmpty else {
      throw HearthError(
        .notFound, "there is nothing to recover yet: create or join a household first")
    }
    guard try state() == .none else {
      throw HearthError(
        .exists,
        "you have recovery words, but no device keeps them, so they cannot be shown again: "
          + "`hearth words rotate` makes new ones")
    }
    let root = try words.words.root()
    var draft = engine
    try store.transaction {
      draft = engine
      for group in groups {
        try RecoveryKeys.set(
          sign: root.publicKeys.sign, box: root.publicKeys.box, in: group.id,
          by: &draft, nowMilliseconds: now())
      }
      try RecoveryBundles(core: core).keep(root)
    }
    engine = draft
  }

  /// Checks whether words are the person's.
  func check(_ words: PersonWords) throws -> WordsVerdict {
    let keys = try ownGroups().compactMap(\.keys)
    guard !keys.isEmpty else { return .none }
    let own = try words.words.root().publicKeys
    return keys.allSatisfy { $0.sign == own.sign && $0.box == own.box } ? .right : .other
  }

  /// Replaces the person's words in every household.
  ///
  /// The old words sign the change, and open nothing later.
  ///
  /// - Throws: `notAllowed` if the old words are not the person's.
  func rotate(_ former: RecoveryRoot, to new: PersonWords) throws {
    let groups = try ownGroups().filter { $0.keys?.sign == former.publicKeys.sign }
    guard !groups.isEmpty else {
      throw HearthError(
        .notAllowed,
        try state() == .none
          ? "you have no recovery words yet: `hearth words show` makes them"
          : "these are not your current recovery words: use the latest sheet")
    }
    let root = try new.words.root()
    var draft = engine
    try store.transaction {
      draft = engine
      for group in groups {
        try RecoveryKeys.rotate(
          sign: root.publicKeys.sign, box: root.publicKeys.box, in: group.id,
          consent: { .recovery(signature: former.sign(domain: $0, $1)) }, by: &draft,
          nowMilliseconds: now())
      }
      let bundles = RecoveryBundles(core: core)
      try bundles.keep(root)
      try bundles.noteFormer(former)
    }
    engine = draft
  }
}

extension NodeWork {
  /// The recovery words of the node's person.
  var recovery: PersonRecovery { PersonRecovery(core: core) }
}
