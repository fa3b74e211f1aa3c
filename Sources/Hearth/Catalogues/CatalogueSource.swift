import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSockets
import HearthSync
import HearthTransport

/// A place from which a catalogue is read; no place is trusted.
struct CatalogueSource {
  /// The kinds of places.
  enum Place {
    case relay(RelayCatalogue)
    case folder(String)
  }

  /// The catalogue.
  let catalogue: CatalogueReference
  /// The place.
  let place: Place

  /// The most pages of one fetch: as many as a relay's most entries fill.
  static let maximumPages = 2_000
  /// The most answers to one query: the records of a full catalogue take half as many.
  static let maximumAnswers = 512

  init(catalogue: CatalogueReference, place: Place) {
    self.catalogue = catalogue
    self.place = place
  }

  /// Takes a relay or folder as the place.
  ///
  /// A relay gets a connection of its own, so that it does not learn which household reads.
  ///
  /// - Parameter reader: distinguishes the nodes of one process.
  init(of address: CatalogueAddress, folder: String?, as reader: DeviceID) {
    guard let relay = address.relay else {
      self.init(catalogue: address.catalogue, place: .folder(folder ?? ""))
      return
    }
    let link = RelayLink.shared(
      relay,
      RelayLink.Owner(
        name: "reader \(reader.hex)",
        managerPair: { _ in throw HearthError(.notAllowed, "a reader cannot create mailboxes") }))
    self.init(
      catalogue: address.catalogue,
      place: .relay(RelayCatalogue(reading: address.catalogue, over: link)))
  }

  /// Fetches the newest version, complete and verified.
  ///
  /// - Parameters:
  ///   - present: the copy from which to continue.
  ///   - cursor: the position of the relay's log in that copy.
  ///   - greatest: a version below which the result may not fall.
  /// - Returns: the version, which may be the present one, and the log position that belongs to it.
  /// - Throws: `TransportError`, `SyncError`, `HearthError`.
  func fetch(
    since present: PublicCatalogue?, cursor: RelayCursor?, greatest: PublicHead?
  ) async throws -> (PublicCatalogue, RelayCursor?) {
    switch place {
    case .folder(let path):
      return (try await CatalogueFolder(path: path, catalogue: catalogue).read(greatest), nil)
    case .relay(let remote):
      let opened = try await remote.open()
      if let present, let cursor, cursor.generation == opened.head.generation,
        cursor.position <= opened.head.position
      {
        do {
          return try await changes(remote, opened.head, after: cursor.position, present, greatest)
        } catch let error as SyncError where error.code == .catalogueIncomplete {
          // Something does not fit together: the whole log shows more.
        }
      }
      return try await changes(remote, opened.head, after: 0, nil, greatest)
    }
  }

  private func changes(
    _ remote: RelayCatalogue, _ opened: RelayCursor, after start: UInt64,
    _ present: PublicCatalogue?, _ greatest: PublicHead?
  ) async throws -> (PublicCatalogue, RelayCursor?) {
    var assembly = CatalogueAssembly(from: present)
    var position = start
    for _ in 0..<CatalogueSource.maximumPages where position < opened.position {
      let page = try await remote.page(after: position)
      guard let last = page.entries.last?.header.position, last > position else {
        // What came may be whole all the same.
        return try result(assembly, opened.generation, position, greatest)
      }
      try assembly.take(page.entries)
      position = last
    }
    guard position >= opened.position else {
      throw remote.excess(of: "a log of more than \(CatalogueSource.maximumPages) pages")
    }
    return try result(assembly, opened.generation, position, greatest)
  }

  /// The assembled version after verifying it, and its position in the relay's log.
  private func result(
    _ assembly: CatalogueAssembly, _ generation: Identifier, _ position: UInt64,
    _ greatest: PublicHead?
  ) throws -> (PublicCatalogue, RelayCursor?) {
    let whole = try assembly.whole(of: catalogue, greatest: greatest)
    return (whole, RelayCursor(generation: generation, position: position))
  }

  /// Queries the relay, and accepts only records that verify.
  ///
  /// - Parameters:
  ///   - limit: the most records to return.
  ///   - present: the records of the type in the local copy.
  ///   - known: the version of that copy.
  /// - Returns: the records, and the number of records left out as older than the local copy.
  /// - Throws: `TransportError`; `relayInconsistent` for more than a catalogue can have.
  func find(
    _ query: PublicQuery, atMost limit: Int, present: [SignedPublicRecord], head known: PublicHead?
  ) async throws -> (records: [PublicRecord], stale: Int) {
    guard case .relay(let remote) = place, limit > 0 else { return ([], 0) }
    _ = try await remote.open()
    var newest: [PublicKeyPath: UInt64] = [:]
    for record in present { newest[record.record.path] = record.record.revision }
    var found: [PublicRecord] = []
    var (stale, count, byteCount) = (0, 0, 0)
    var question = query
    for _ in 0..<CatalogueSource.maximumAnswers {
      let answer = try await remote.find(question)
      count += answer.records.count
      byteCount += answer.records.reduce(0) { $0 + $1.count }
      for record in try answer.proven(for: question, of: catalogue) {
        // Retired or changed since; the local copy is newer.
        let isOld =
          newest[record.path].map { record.revision < $0 }
          ?? (record.revision <= known?.version ?? 0)
        if isOld { stale += 1 } else if found.count < limit { found.append(record) }
      }
      guard let last = answer.next, found.count < limit else { return (found, stale) }
      guard count <= PublicLimits.maximumRecords, byteCount <= PublicLimits.maximumCatalogueBytes
      else { throw remote.excess(of: "\(count) records of \(byteCount >> 20) MiB to one query") }
      question = try question.continued(after: last)
    }
    throw remote.excess(of: "\(CatalogueSource.maximumAnswers) answers to one query")
  }
}
