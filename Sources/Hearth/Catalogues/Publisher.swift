import Foundation
import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthStore
import HearthSync

/// The result of publishing to one place.
package struct PublishedPlace: Sendable {
  /// The relay's address or the folder's path.
  package let place: String
  /// The address that readers follow.
  package let address: CatalogueAddress
  /// The numbers of sent and of removed records.
  package var sent = 0
  package var removed = 0
  /// The reason why nothing was published there, in words; nil on success.
  package var failure: String?
  /// Whether the place was unreachable.
  package var isOffline = false
}

/// The result of publishing.
package struct PublishReport: Sendable {
  /// The catalogue.
  package let catalogue: CatalogueReference
  /// The published version.
  package let version: UInt64
  /// The number of its records.
  package let count: Int
  /// Whether it differs from the previous version.
  package let isNew: Bool
  /// The places, in order.
  package let places: [PublishedPlace]
}

/// The catalogues that a node publishes: it signs them and sends the records that changed.
struct Publisher: NodeWork {
  let core: NodeCore
  var reach = CatalogueReach.standard

  private static let fact = Fact(bytes: "publisher")

  /// Returns the publisher's identity of this node; nil if there is none yet.
  private func identity() throws -> PublisherIdentity? {
    guard let sealed = try store.facts.value(of: Publisher.fact) else { return nil }
    return try PublisherIdentity.recovered(sealed, by: engine.identity)
  }

  /// Returns the fingerprint of this node's publishing key; nil if there is none yet.
  func fingerprint() throws -> String? {
    try identity().map { CatalogueReference.fingerprint(of: $0.publicKey) }
  }

  /// Creates a publisher's key for this node, and returns its fingerprint.
  ///
  /// - Throws: `exists`.
  func makeKey() throws -> String {
    guard try !store.facts.has(Publisher.fact) else {
      throw HearthError(
        .exists, "this node is a publisher already: readers trust the key that it has")
    }
    let publisher = try PublisherIdentity.generate()
    try keep(publisher)
    return CatalogueReference.fingerprint(of: publisher.publicKey)
  }

  private func keep(_ publisher: PublisherIdentity) throws {
    let sealed = publisher.protected(by: engine.identity)
    try store.transaction { try store.facts.set(Publisher.fact, to: sealed) }
  }

  /// Saves the publisher's secret in a key file, which must be kept in a safe place.
  ///
  /// - Throws: `notFound`; the errors of sealing.
  func exportKey(passphrase: [UInt8], to path: String) throws {
    guard let publisher = try identity() else { throw Publisher.noPublisher }
    var words = passphrase
    let file = try KeyFile.seal(
      [publisher.secretBytes()], passphrase: Passphrase(consuming: &words))
    guard !FileManager.default.fileExists(atPath: path) else {
      throw HearthError(.exists, "\(path) is there already: choose another name")
    }
    try DurableFile.write(file, to: path, mode: mode_t(KeyFile.requiredFileMode))
  }

  /// Makes this node a publisher with the secret of a key file.
  ///
  /// - Throws: `exists`, `passphrase`, `corrupt`, `notFound`.
  func importKey(passphrase: [UInt8], from path: String) throws -> String {
    guard try !store.facts.has(Publisher.fact) else {
      throw HearthError(
        .exists, "this node is a publisher already: readers trust the key that it has")
    }
    guard let bytes = try DurableFile.read(path, atMost: KeyFile.maximumFileBytes) else {
      throw HearthError(.notFound, "there is no file \(path)")
    }
    var words = passphrase
    do {
      let secrets = try KeyFile.open(bytes, passphrase: Passphrase(consuming: &words))
      guard let master = try secrets.first?.key() else {
        throw HearthError(.corrupt, "the file \(path) holds no key")
      }
      let publisher = try PublisherIdentity(master: master)
      try keep(publisher)
      return CatalogueReference.fingerprint(of: publisher.publicKey)
    } catch let error as CryptoError where error.code == .wrongPassphrase {
      throw HearthError(.passphrase, "the passphrase is wrong", cause: error)
    } catch let error as CryptoError {
      throw HearthError(.corrupt, "\(path) is damaged or not a publisher's key file", cause: error)
    }
  }

  private static let noPublisher = HearthError(
    .notFound, "this node has no publisher's key yet: `hearth public publisher new` makes one")

  /// Returns the catalogues that this node publishes, with the places of each.
  func published() throws -> [(catalogue: KeptCatalogue, places: [String])] {
    guard try fingerprint() != nil else { return [] }
    return try core.catalogueFile.store().catalogues(.own).map {
      ($0, try core.catalogueFile.store().targets(of: $0.address.catalogue.id))
    }
  }

  /// Signs a catalogue's records and sends the changes to every place of the catalogue.
  ///
  /// Publishing the same records again sends nothing. The signed version is stored before anything
  /// is sent, so that no version number ever has two contents.
  ///
  /// - Parameters:
  ///   - drafts: all records of the catalogue; missing ones are retired.
  ///   - name: the catalogue's name.
  ///   - leastVersion: the lowest acceptable version.
  ///   - more: further places to publish to from now on: relays' addresses and folders.
  ///   - token: the relay's registration token, if it requires one.
  /// - Throws: `notFound` without a publisher's key, `invalid`.
  func publish(
    _ drafts: [PublicRecord], named name: String, leastVersion: UInt64, to more: [String],
    token: String?
  ) async throws -> PublishReport {
    guard let publisher = try identity() else { throw Publisher.noPublisher }
    let catalogue = try CatalogueReference(publisher: publisher.publicKey, name: name)
    let store = try core.catalogueFile.store()
    let id = catalogue.id
    let added = try more.map { try publishingPlace($0) }
    let places = Set(try store.targets(of: id) + added).sorted()
    guard !places.isEmpty else {
      throw HearthError(
        .invalid, "say where to publish it: --to with a relay's address or a folder")
    }
    var kept =
      try store.catalogue(id, .own)
      ?? KeptCatalogue(address: CatalogueAddress(relay: nil, catalogue: catalogue))
    var before = try store.copy(of: id, .own)
    var results: [PublishedPlace] = []
    for place in places {
      var result = PublishedPlace(place: place, address: try readers(place, of: catalogue))
      try await attempt(&result) { _ in
        let there = try await newest(at: place, of: catalogue)
        if let there, there.head.head.version > before?.head.head.version ?? 0 { before = there }
      }
      results.append(result)
    }
    // Another process may have signed a version meanwhile.
    if let own = try store.copy(of: id, .own),
      own.head.head.version > before?.head.head.version ?? 0
    {
      before = own
    }
    let next = try PublicCatalogue.next(
      after: before, of: catalogue, drafts: drafts, leastVersion: leastVersion,
      publishedAt: now(), by: publisher)
    kept.checkedAt = now()
    try store.replace(next, of: kept, .own)
    for index in results.indices where results[index].failure == nil {
      try await attempt(&results[index]) { result in
        try await send(next, as: publisher, token: token, &result)
        try store.addTarget(result.place, of: id)
      }
    }
    return PublishReport(
      catalogue: catalogue, version: next.head.head.version, count: next.records.count,
      isNew: next != before, places: results)
  }

  /// Runs a body for one place; its failure affects no other place.
  ///
  /// - Throws: `CancellationError`.
  private func attempt(
    _ result: inout PublishedPlace, _ body: (inout PublishedPlace) async throws -> Void
  ) async throws {
    do {
      try await body(&result)
    } catch let error as CancellationError {
      throw error
    } catch let error as TransportError {
      result.failure = "\(error)"
      result.isOffline = error.code == .relayUnreachable
    } catch {
      result.failure = Hearth.words(of: error)
    }
  }

  private func publishingPlace(_ text: String) throws -> String {
    if TransportAddress.isRelay(text) {
      do {
        return try RelayAddress(text.filter { !$0.isWhitespace }).description
      } catch let error as SyncError {
        throw HearthError(.invalid, error.message, cause: error)
      }
    }
    let path = try SharedFolderPath.checked(text, home: folder.root.path)
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue
    else { throw HearthError(.invalid, "\(text) is neither a relay's address nor a folder") }
    return path
  }

  /// Returns the address that readers follow for a catalogue at a place.
  private func readers(_ place: String, of catalogue: CatalogueReference) throws -> CatalogueAddress
  {
    CatalogueAddress(
      relay: TransportAddress.isRelay(place) ? try RelayAddress(place) : nil, catalogue: catalogue)
  }

  /// Returns a place's version of a catalogue; nil if it has none, or no complete one.
  private func newest(
    at place: String, of catalogue: CatalogueReference
  ) async throws -> PublicCatalogue? {
    let address = try readers(place, of: catalogue)
    let folder = address.relay == nil ? place : nil
    let (reach, reader) = (reach, device)
    do {
      return try await reach.ask(address, folder, beside: replicas) {
        try await reach.source(address, folder, reader)
          .fetch(since: nil, cursor: nil, greatest: nil).0
      }
    } catch let error as TransportError where error.code == .relayRefused {
      return nil
    } catch is SyncError {
      // A damaged or partly published version is written again.
      return nil
    } catch let error as HearthError where [.notFound, .corrupt].contains(error.code) {
      return nil
    }
  }

  /// Sends a version to one place, or the one that another process of this node signed after it.
  private func send(
    _ next: PublicCatalogue, as publisher: PublisherIdentity, token: String?,
    _ result: inout PublishedPlace
  ) async throws {
    let id = result.address.catalogue.id
    var version = next
    while true {
      do {
        let done = try await deliver(version, as: publisher, token: token, to: result)
        result.sent += done.sent
        result.removed += done.removed
        return
      } catch let error as HearthError where error.code == .exists {
        // Both may have changed the records there: sending the later one again puts them right.
        guard let own = try core.catalogueFile.store().copy(of: id, .own),
          own.head.head.version > version.head.head.version
        else { throw error }
        version = own
      }
    }
  }

  private func deliver(
    _ version: PublicCatalogue, as publisher: PublisherIdentity, token: String?,
    to place: PublishedPlace
  ) async throws -> CatalogueDelivery.Done {
    let known = try transports.list().first { $0.path == place.address.relay?.description }?.token
    let delivery = CatalogueDelivery(
      version: version, address: place.address, place: place.place, publisher: publisher,
      sender: device, credential: try (token ?? known).map { try Base32.decode($0) } ?? [])
    return try await reach.ask(place.address, place.place, beside: replicas) {
      try await delivery.send()
    }
  }
}
