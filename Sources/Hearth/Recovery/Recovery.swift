import HearthCrypto
import HearthSync

/// A node's knowledge of its person's recovery words.
package enum WordsState: Equatable, Sendable {
  /// There are no words.
  case none
  /// There are words, which were confirmed when they were made.
  case set
}

/// The result of a check of typed words.
package enum WordsVerdict: Equatable, Sendable {
  /// They are the person's words.
  case right
  /// They are other words, or words that were replaced.
  case other
  /// The person has no words.
  case none
}

/// The recovery words of a node's person, and the recovery bundle that they open.
package struct Recovery: Sendable {
  let node: Node

  /// Whether the person has recovery words.
  package func state() async throws -> WordsState {
    try await node.looking { try $0.recovery.state() }
  }

  /// Activates words in every household and the private database of the person.
  ///
  /// Call it after the person has shown that the words are written down: they cannot be replaced
  /// without them. It puts the recovery bundle on every transport. From then on, every key is also
  /// wrapped to the words; the present keys by new epochs that lead to the earlier ones.
  ///
  /// - Returns: the report of the sync with the transports.
  /// - Throws: `exists` if there are words; `notFound` while there is no household.
  package func activate(_ words: PersonWords) async throws -> SyncReport {
    try await node.alone { core in
      try core.recovery.activate(words)
      return try await node.sync()
    }
  }

  /// Checks whether words are the person's.
  package func check(_ words: PersonWords) async throws -> WordsVerdict {
    try await node.looking { try $0.recovery.check(words) }
  }

  /// Replaces the person's words in every household.
  ///
  /// The old words sign the change, and open nothing later. Their recovery bundle is removed from
  /// the transports once all of these hold the change and the bundle of the new words: until then
  /// the old words alone may lead back.
  ///
  /// - Throws: `notAllowed` if the old words are not the person's.
  package func rotate(_ old: PersonWords, to new: PersonWords) async throws -> SyncReport {
    try await node.alone { core in
      try core.recovery.rotate(try old.words.root(), to: new)
      return try await node.sync()
    }
  }

  // MARK: The bundle

  /// Returns the state of the person's recovery bundle on each transport; nil where there are no
  /// words.
  ///
  /// It changes nothing.
  package func bundleStatus() async throws -> RecoveryBundleStatus? {
    try await node.alone { try await RecoveryBundles(core: $0).status() }
  }

  /// Checks, with the words, whether the bundles on the transports lead back to everything.
  ///
  /// From then on this device knows the location of the bundle, if it did not. Only the words show
  /// whether the keys in the bundle are good.
  ///
  /// - Returns: for each transport that could be reached, the fault in words; nil if there is none.
  package func examineBundles(
    with words: PersonWords
  ) async throws -> [(place: String, fault: String?)] {
    try await node.alone { try await RecoveryBundles(core: $0).examine(with: words) }
  }
}

extension Node {
  /// The recovery words of this node's person.
  package nonisolated var recovery: Recovery { Recovery(node: self) }
}
