import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthSync
import HearthTransport

/// What was recovered.
package struct Recovered: Sendable {
  /// The households that are here again.
  package let households: [(zone: ZoneID, name: String, revokedDevices: [String])]
  /// Those that the words do not open any more, with the reason.
  package let refused: [(name: String, reason: String)]
  /// Whether what the person keeps for itself is here again.
  package let hasPrivateDatabase: Bool
}

// A bare machine becomes a device of a person again, from words and a shared folder alone.
extension Node {
  /// Makes a node out of recovery words and what lies in shared folders.
  ///
  /// Everything is prepared in a folder beside the home, which takes the home's place when it is
  /// complete; only then do others hear of the new device. Whatever fails before leaves nothing.
  ///
  /// - Parameters:
  ///   - path: the home, which must not hold a node yet.
  ///   - folders: the shared folders, at least one.
  ///   - revokingOthers: whether every other device of the person ends.
  /// - Throws: `exists`, `invalid` for a relay's address that cannot be,
  ///   `offline` if no folder can be read, `notFound` if none holds a bundle for
  ///   the words, `corrupt` if the bundle is forged or damaged, `notAllowed` if the person was
  ///   removed or the words were replaced.
  package static func recover(
    at path: String, words: PersonWords, folders: [String], deviceName: String,
    revokingOthers: Bool, passphrase: [UInt8]?, schema: NodeSchema,
    now: @escaping @Sendable () -> UInt64 = Node.wallClock
  ) async throws -> (node: Node, recovered: Recovered) {
    let home = URL(fileURLWithPath: path, isDirectory: true).standardizedFileURL.path
    try NodeFolder(home).requireFree()
    let root = try words.words.root()
    let folders = try folders.map {
      TransportAddress.isRelay($0) || $0.contains("://")
        ? try TransportAddress.relay($0).description : try SharedFolderPath.checked($0, home: home)
    }
    let source = RecoverySource(root: root)
    var listing = try await source.listing(at: folders)
    let leadsToPrivate = listing.groups.contains {
      RecoveryBundles.isAttested($0, of: listing.person, by: root)
    }
    let draft = home + ".recovering"
    var refused: [GroupRecovery.Refusal] = []
    var taken = GroupRecovery.TakenBack()
    repeat {
      do {
        taken = try await prepare(
          at: draft, listing, leadingToPrivate: leadsToPrivate, with: root, from: folders,
          deviceName: deviceName, revokingOthers: revokingOthers, passphrase: passphrase,
          schema: schema, now: now)
      } catch let refusal as GroupRecovery.Refusal {
        // Begun anew without it, so that nothing of it stays.
        refused.append(refusal)
        listing.groups.removeAll { $0.id == refusal.group }
      }
    } while taken.households.isEmpty && listing.groups.contains { $0.database == .shared }
    guard !taken.households.isEmpty else {
      throw refused.first?.error
        ?? HearthError(.notFound, "these words lead to no household: there is nothing to recover")
    }
    try NodeFolder(draft).move(to: home)
    let node = try await Node.open(at: home, passphrase: passphrase, schema: schema, now: now)
    _ = try await node.sync()
    return (
      node,
      Recovered(
        households: taken.households, refused: refused.map { ($0.name, $0.error.message) },
        hasPrivateDatabase: taken.hasPrivateDatabase)
    )
  }

  /// Makes the complete node in a folder; nothing stays there if that fails.
  private static func prepare(
    at draft: String, _ listing: RecoveryListing, leadingToPrivate leadsToPrivate: Bool,
    with root: RecoveryRoot, from folders: [String], deviceName: String, revokingOthers: Bool,
    passphrase: [UInt8]?, schema: NodeSchema,
    now: @escaping @Sendable () -> UInt64
  ) async throws -> GroupRecovery.TakenBack {
    try NodeFolder(draft).remove()
    do {
      let node = try await Node.create(
        at: draft, person: listing.personName, personID: listing.person, device: deviceName,
        passphrase: passphrase, schema: schema, now: now)
      do {
        let taken = try await node.alone {
          try await GroupRecovery(core: $0).takeBack(
            listing, leadingToPrivate: leadsToPrivate, with: root, from: folders,
            revokingOthers: revokingOthers)
        }
        try await node.close()
        return taken
      } catch {
        try? await node.close()
        throw error
      }
    } catch {
      try? NodeFolder(draft).remove()
      throw error
    }
  }
}
