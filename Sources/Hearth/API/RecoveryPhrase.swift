import HearthCrypto
import HearthSync

/// Twelve words with which a person gets everything back after the loss of all devices.
///
/// Nothing stores them, so show them for writing down and keep nothing. Whoever has them and
/// reaches a transport gets all of the person's data.
public struct RecoveryPhrase: Sendable {
  let words: PersonWords

  private init(words: PersonWords) {
    self.words = words
  }

  /// Draws new random words.
  ///
  /// - Throws: `io` if there is no memory for secrets.
  public static func random() throws(HearthError) -> RecoveryPhrase {
    try reported { RecoveryPhrase(words: try .drawn()) }
  }

  /// Reads words as a person types them: in any case, with numbers, commas and line breaks.
  ///
  /// - Throws: `invalid`, with a message that names the wrong word and similar ones of the list:
  ///   show it to the person, and never log it.
  public init(_ text: String) throws(HearthError) {
    var typed = Array(text.utf8)
    words = try reported { try PersonWords(consuming: &typed) }
  }

  /// Returns the twelve words in their order, for the person's screen.
  public func texts() -> [String] { words.texts() }

  /// The words as a person would type them.
  func text() -> [UInt8] { Array(texts().joined(separator: " ").utf8) }
}

/// The zones that recovery words have brought back.
public struct RecoveredZones: Sendable {
  /// The shared zones that are here again.
  public let zones: [HearthZone]
  /// The names of zones that the words do not open any more, with the reason.
  public let refused: [String: String]
  /// Whether the private database is here again.
  public let hasPersonal: Bool
}

extension HearthNode {
  /// Whether this node's person has recovery words.
  public func hasRecoveryPhrase() async throws(HearthError) -> Bool {
    try await reported { try await node.recovery.state() == .set }
  }

  /// Makes words the person's, in every shared zone and the private database.
  ///
  /// Call it after the person has shown that the words are written down: they cannot be replaced
  /// without them. From then on every key is also wrapped to the words, and an encrypted bundle on
  /// every transport leads back to the data.
  ///
  /// - Throws: `exists` if the person has words; `notFound` while there is no shared zone.
  public func setRecoveryPhrase(_ phrase: RecoveryPhrase) async throws(HearthError) {
    try await reported { _ = try await node.recovery.activate(phrase.words) }
  }

  /// Whether words are the person's present ones.
  public func isRecoveryPhrase(_ phrase: RecoveryPhrase) async throws(HearthError) -> Bool {
    try await reported { try await node.recovery.check(phrase.words) == .right }
  }

  /// Replaces the person's words; the old ones open nothing that is written later.
  ///
  /// - Throws: `notAllowed` if the old words are not the person's.
  public func replaceRecoveryPhrase(
    _ old: RecoveryPhrase, with new: RecoveryPhrase
  ) async throws(HearthError) {
    try await reported { _ = try await node.recovery.rotate(old.words, to: new.words) }
  }

  /// Makes a node out of recovery words and what lies on transports.
  ///
  /// Whatever fails leaves nothing in the folder.
  ///
  /// - Parameters:
  ///   - path: the new node's folder, which must not contain a node.
  ///   - app: the application whose zones are recovered.
  ///   - phrase: the person's words.
  ///   - places: shared folders and addresses of relays, at least one.
  ///   - device: the new device's name.
  ///   - revokingOthers: whether the access of the person's other devices ends.
  ///   - passphrase: protects the key file, if given.
  /// - Throws: `exists`; `offline` if no place can be read; `notFound` if none leads to data of the
  ///   person; `corrupt`; `notAllowed` if the person was removed or has replaced the words.
  public static func recover(
    at path: String, _ app: AppSchema, phrase: RecoveryPhrase, from places: [String],
    device: String = "device", revokingOthers: Bool = false, passphrase: String? = nil
  ) async throws(HearthError) -> (node: HearthNode, recovered: RecoveredZones) {
    let schema = try app.checked()
    return try await reported {
      let (node, recovered) = try await Node.recover(
        at: path, words: phrase.words, folders: places, deviceName: device,
        revokingOthers: revokingOthers, passphrase: passphrase.map { Array($0.utf8) },
        schema: schema)
      let zones = recovered.households.map {
        HearthZone(node: node, zone: $0.zone, name: $0.name)
      }
      let refused = Dictionary(
        recovered.refused.map { ($0.name, ProgramWords.text($0.reason, .notAllowed)) },
        uniquingKeysWith: { first, _ in first })
      return (
        HearthNode(node: node),
        RecoveredZones(
          zones: zones, refused: refused, hasPersonal: recovered.hasPrivateDatabase)
      )
    }
  }
}
