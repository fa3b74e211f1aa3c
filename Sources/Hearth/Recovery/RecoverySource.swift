import Foundation
import HearthCrypto
import HearthRelayProtocol
import HearthSockets
import HearthSync
import HearthTransport

/// Where recovery words look for what they open, before there is a node.
struct RecoverySource {
  let root: RecoveryRoot

  /// Finds the bundles of the words; one bundle may contain groups that another lacks.
  func listing(at folders: [String]) async throws -> RecoveryListing {
    let name = try RecoveryBundles.name(of: root.capsuleAccess)
    var found: RecoveryListing?
    var problem: HearthError?
    for path in folders {
      do {
        let transport = try transport(at: path)
        guard TransportAddress.isRelay(path) || FileManager.default.fileExists(atPath: path) else {
          throw HearthError(.offline, "there is no folder \(path)")
        }
        guard let bytes = try await transport.fetch(name) else { continue }
        let body = try RecoveryCapsule.open(bytes, with: root.capsuleAccess)
        let listing = try RecoveryListing(decoding: body)
        found = found?.joined(with: listing) ?? listing
      } catch let error where Self.isUnreachable(error) {
        throw TransportAddress.unreadable(path, because: error)
      } catch {
        problem = HearthError(
          .corrupt,
          "the recovery bundle in \(path) is damaged or forged: use the folder from another copy "
            + "or device, then try again", cause: error)
      }
    }
    if let found { return found }
    if let problem { throw problem }
    let place = folders.contains(where: TransportAddress.isRelay) ? "place" : "folder"
    throw HearthError(
      .notFound,
      "nothing in \(folders.joined(separator: ", ")) is for these words: check that they are the "
        + "latest, "
        + (folders.allSatisfy(TransportAddress.isRelay)
          ? "and that your household uses this relay"
          : "that it is the right \(place), and that everything has arrived in it"))
  }

  /// A transport before there is a node: it sees the bundle of the words, and no more.
  private func transport(at place: String) throws -> any Transport {
    guard TransportAddress.isRelay(place) else {
      return FolderTransport(path: place, digest: { segmentDigest($0) })
    }
    let address = try RelayAddress(place)
    let name = try RecoveryBundles.name(of: root.capsuleAccess)
    var directory = RelayDirectory()
    directory.capsules[name.scope] = try .recovery(root.capsuleAccess, mayCreate: false)
    return RelayTransport(
      over: link(to: address), memory: NoMemory(), directory: directory,
      digest: { segmentDigest($0) })
  }

  /// A connection on which the words are the device.
  func link(to address: RelayAddress) -> RelayLink {
    RelayLink(
      address,
      RelayLink.Owner(name: "recovery", managerPair: { try root.relayPair(relayID: $0) }))
  }

  /// Whether an error concerns the folder and not its content.
  private static func isUnreachable(_ error: any Error) -> Bool {
    guard let error = error as? TransportError else { return error is HearthError }
    let ofFile: [TransportError.Code] = [.emptyFile, .contentMismatch, .tooLarge, .notRegularFile]
    return !ofFile.contains(error.code)
  }
}
