import Foundation
import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
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

  /// The most pages of one fetch: far more than a catalogue with years of daily versions.
  private static let maximumPages = 2_000

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
    case .folder(let path): return (try read(path, greatest), nil)
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
      guard let last = page.entries.last?.header.position else { break }
      try assembly.take(page.entries)
      position = last
    }
    let whole = try assembly.whole(of: catalogue, greatest: greatest)
    return (whole, RelayCursor(generation: opened.generation, position: position))
  }

  private func read(_ folder: String, _ greatest: PublicHead?) throws -> PublicCatalogue {
    let name = PublicPack.fileName(of: catalogue.id)
    let path = URL(fileURLWithPath: folder).appendingPathComponent(name).path
    guard let bytes = try DurableFile.read(path, atMost: PublicLimits.maximumPackBytes) else {
      throw HearthError(
        .notFound, "\(folder) does not hold the catalogue \(catalogue.name): there is no \(name)")
    }
    let pack: PublicPack
    do {
      pack = try PublicPack(decoding: bytes)
    } catch {
      throw SyncError(
        .malformed, "\(path) is damaged or not a catalogue (\(error)): the local copy stays",
        cause: error)
    }
    try pack.head.verify(of: catalogue)
    _ = try pack.head.head.replaces(greatest)
    return try PublicCatalogue(of: catalogue, head: pack.head, records: pack.records)
  }

  /// Queries the relay, and accepts only records that verify.
  ///
  /// - Parameters:
  ///   - limit: the most records to return.
  ///   - present: the records of the type in the local copy.
  ///   - known: the version of that copy.
  /// - Returns: the records, and the number of records left out as older than the local copy.
  func find(
    _ query: PublicQuery, atMost limit: Int, present: [SignedPublicRecord], head known: PublicHead?
  ) async throws -> (records: [PublicRecord], stale: Int) {
    guard case .relay(let remote) = place else { return ([], 0) }
    _ = try await remote.open()
    var newest: [PublicKeyPath: UInt64] = [:]
    for record in present { newest[record.record.path] = record.record.revision }
    var found: [PublicRecord] = []
    var stale = 0
    var next: PublicQuery? = query
    while let question = next, found.count < limit {
      let answer = try await remote.find(question)
      for record in try answer.proven(for: question, of: catalogue) {
        // Retired or changed since; the local copy is newer.
        let isOld =
          newest[record.path].map { record.revision < $0 }
          ?? (record.revision <= known?.version ?? 0)
        if isOld { stale += 1 } else if found.count < limit { found.append(record) }
      }
      next = try answer.next.map { try question.continued(after: $0) }
    }
    return (found, stale)
  }
}
