import Foundation
import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthStore
import HearthSync

/// The result of a check for a newer version of a catalogue.
package struct CatalogueRefresh: Sendable {
  /// The catalogue as stored here now.
  package let kept: KeptCatalogue
  /// Whether the stored version changed.
  package let isNew: Bool
  /// The reason why the stored version was kept, in words; nil if it is the newest.
  package let problem: String?
  /// Whether the place was unreachable.
  package let isOffline: Bool
}

/// A record and its catalogue.
package struct FoundRecord: Sendable {
  /// The catalogue.
  package let catalogue: CatalogueReference
  /// The record, whose publisher was verified.
  package let record: PublicRecord
}

/// The catalogues that a node follows: fetched, verified, stored, and read offline.
///
/// While a place is asked, other calls may change what is kept. What a check for news brought
/// counts only if the catalogue is still as it was; a place that the user names counts in any case.
struct FollowedCatalogues: NodeWork {
  let core: NodeCore
  var reach = CatalogueReach.standard

  private func catalogues() throws -> CatalogueStore { try core.catalogueFile.store() }

  /// Returns the followed catalogues, in order of name.
  func list() throws -> [KeptCatalogue] {
    core.catalogueFile.exists ? try catalogues().catalogues(.followed) : []
  }

  /// Follows a catalogue: trusts the key in its address, and fetches it.
  ///
  /// An unreachable catalogue is followed and fetched later. If a newer version was stored while
  /// the place was asked, or the catalogue was forgotten, it is followed from there all the same.
  ///
  /// - Parameter place: the folder that contains it, if the address names no relay.
  /// - Throws: `invalid`, and the error that rejects its first copy.
  func follow(_ text: String, folder place: String?) async throws -> CatalogueRefresh {
    let address = try catalogueAddress(text)
    guard (address.relay == nil) == (place != nil) else {
      throw HearthError(
        .invalid,
        place == nil
          ? "this address names no relay: name the folder that contains the catalogue"
          : "this address names a relay: leave the folder out, or use the address for folders")
    }
    let absolute = try place.map(SharedFolderPath.named)
    do {
      let brought = try await bring(named(address, absolute))
      return try keep(brought, of: named(address, absolute))
    } catch let error as TransportError where error.code == .relayUnreachable {
      var kept = try named(address, absolute)
      kept.problem = "\(error)"
      try catalogues().note(kept, .followed)
      return CatalogueRefresh(kept: kept, isNew: false, problem: kept.problem, isOffline: true)
    } catch let error as TransportError {
      throw HearthError(.notFound, "\(error)", cause: error)
    } catch let error as SyncError where error.code == .notAuthentic {
      throw HearthError(.untrusted, error.message, cause: error)
    }
  }

  /// A catalogue as it is stored now, with the place that the user names.
  private func named(_ address: CatalogueAddress, _ folder: String?) throws -> KeptCatalogue {
    let known = try catalogues().catalogue(address.catalogue.id, .followed, evenForgotten: true)
    var kept = known ?? KeptCatalogue(address: address)
    if kept.address != address || kept.folder != folder { kept.cursor = nil }
    kept.address = address
    kept.folder = folder
    kept.problem = nil
    return kept
  }

  private func catalogueAddress(_ text: String) throws -> CatalogueAddress {
    do {
      return try CatalogueAddress(text.filter { !$0.isWhitespace })
    } catch let error as SyncError {
      throw HearthError(.invalid, error.message, cause: error)
    }
  }

  /// Stops following a catalogue and deletes its copy.
  ///
  /// - Throws: `notFound`, `invalid` if several match.
  func unfollow(_ name: String) throws -> KeptCatalogue {
    let kept = try followed(name)
    try catalogues().forget(kept.address.catalogue.id, .followed)
    return kept
  }

  /// Returns the followed catalogue of a name, an address or a fingerprint.
  func followed(_ name: String) throws -> KeptCatalogue {
    let found = try list().filter {
      let catalogue = $0.address.catalogue
      return [catalogue.name, catalogue.fingerprint, $0.address.description].contains(name)
    }
    guard let only = found.first else {
      throw HearthError(
        .notFound, "no catalogue \(name) is followed here: see `hearth public status`")
    }
    guard found.count == 1 else {
      throw HearthError(
        .invalid, "several catalogues are named \(name): give the publisher's fingerprint")
    }
    return only
  }

  /// Checks for newer versions of every followed catalogue; failures are reported and harmless.
  func refresh() async throws -> [CatalogueRefresh] {
    var refreshed: [CatalogueRefresh] = []
    for id in try list().map(\.address.catalogue.id) {
      // While others were asked, it may have got another place.
      guard let kept = try catalogues().catalogue(id, .followed) else { continue }
      do {
        refreshed.append(try await refresh(kept))
      } catch let error as TransportError {
        let isOffline = error.code == .relayUnreachable
        refreshed.append(try failed(kept, "\(error)", isOffline: isOffline))
      } catch let error as SyncError {
        refreshed.append(try failed(kept, error.message, isOffline: false))
      } catch let error as HearthError {
        refreshed.append(try failed(kept, error.message, isOffline: false))
      }
    }
    return refreshed
  }

  /// Fetches and stores one catalogue, unless it changed while its place was asked.
  private func refresh(_ kept: KeptCatalogue) async throws -> CatalogueRefresh {
    let brought = try await bring(kept)
    let known = try catalogues().catalogue(kept.address.catalogue.id, .followed)
    if let known, isSame(known, kept) { return try keep(brought, of: known) }
    return CatalogueRefresh(kept: known ?? kept, isNew: false, problem: nil, isOffline: false)
  }

  /// Notes why there is nothing newer of a catalogue, unless it is no longer followed from there.
  private func failed(
    _ kept: KeptCatalogue, _ problem: String, isOffline: Bool
  ) throws -> CatalogueRefresh {
    let known = try catalogues().catalogue(kept.address.catalogue.id, .followed)
    guard var changed = known, isSamePlace(changed, kept) else {
      // Nobody needs that place any more.
      return CatalogueRefresh(kept: known ?? kept, isNew: false, problem: nil, isOffline: false)
    }
    changed.problem = problem
    try catalogues().note(changed, .followed)
    return CatalogueRefresh(kept: changed, isNew: false, problem: problem, isOffline: isOffline)
  }

  private func isSamePlace(_ one: KeptCatalogue, _ other: KeptCatalogue) -> Bool {
    one.address == other.address && one.folder == other.folder
  }

  /// Whether nobody has stored another version or place, or forgotten what was here.
  private func isSame(_ one: KeptCatalogue, _ other: KeptCatalogue) -> Bool {
    isSamePlace(one, other) && one.head == other.head && one.greatest == other.greatest
  }

  // MARK: One place

  /// A version of a catalogue from a place, not stored yet.
  private struct Brought {
    /// The catalogue as it was when the place was asked.
    let asked: KeptCatalogue
    /// Whether there was a whole copy then.
    let hadCopy: Bool
    /// The version, complete and verified.
    let version: PublicCatalogue
    /// The position of the relay's log in that version.
    let cursor: RelayCursor?
  }

  /// Fetches and verifies one catalogue, and stores nothing.
  private func bring(_ kept: KeptCatalogue) async throws -> Brought {
    let present = try copy(of: kept)
    let (reach, reader) = (reach, device)
    let (version, cursor) = try await reach.ask(kept.address, kept.folder, beside: replicas) {
      try await reach.source(kept.address, kept.folder, reader).fetch(
        since: present, cursor: present == nil ? nil : kept.cursor, greatest: kept.greatest)
    }
    return Brought(asked: kept, hadCopy: present != nil, version: version, cursor: cursor)
  }

  /// Stores what was brought, and where it comes from.
  ///
  /// - Parameter known: the catalogue as it is now, with its place.
  /// - Throws: `SyncError` if a later version than this one was stored meanwhile.
  private func keep(_ brought: Brought, of known: KeptCatalogue) throws -> CatalogueRefresh {
    let store = try catalogues()
    let hasCopy = try isSame(known, brought.asked) ? brought.hadCopy : copy(of: known) != nil
    let isNew = try brought.version.head.head.replaces(known.greatest) || !hasCopy
    var changed = known
    changed.cursor = brought.cursor
    changed.checkedAt = now()
    changed.problem = nil
    if isNew {
      try store.replace(brought.version, of: changed, .followed)
    } else {
      try store.note(changed, .followed)
    }
    let stored = try store.catalogue(known.address.catalogue.id, .followed) ?? changed
    return CatalogueRefresh(kept: stored, isNew: isNew, problem: nil, isOffline: false)
  }

  /// The whole copy of a catalogue; nil if there is none, or a damaged one, which is fetched whole.
  private func copy(of kept: KeptCatalogue) throws -> PublicCatalogue? {
    do {
      return try catalogues().copy(of: kept.address.catalogue.id, .followed)
    } catch let error as StoreError where error.code == .corrupt {
      return nil
    }
  }

  // MARK: Reading

  /// Returns the records of followed catalogues that meet conditions, from the local copies.
  ///
  /// - Parameters:
  ///   - type: their type; nil for all.
  ///   - name: the catalogue; nil for all.
  func records(
    type: String?, conditions: [PublicCondition], in name: String?
  ) throws -> [FoundRecord] {
    let chosen = try name.map { [try followed($0)] } ?? list()
    var found: [FoundRecord] = []
    for kept in chosen {
      let catalogue = kept.address.catalogue
      for signed in try catalogues().records(of: catalogue.id, .followed, type: type)
      where conditions.allSatisfy({ $0.accepts(signed.record) }) {
        found.append(FoundRecord(catalogue: catalogue, record: signed.record))
      }
    }
    return found
  }

  /// Returns the record of a type and id, from the local copies.
  ///
  /// - Throws: `notFound`, `invalid` if several catalogues have it.
  func record(_ path: PublicKeyPath, in name: String?) throws -> FoundRecord {
    let found = try records(type: path.type, conditions: [], in: name)
      .filter { $0.record.path == path }
    guard let first = found.first else {
      throw HearthError(
        .notFound, "no followed catalogue has \(path): see `hearth public list --type \(path.type)`"
      )
    }
    guard found.count == 1 else {
      throw HearthError(.invalid, "several catalogues have \(path): name one with --catalogue")
    }
    return first
  }

  /// Queries the relays of followed catalogues.
  ///
  /// Each record is verified, and records older than the local copy are left out.
  ///
  /// - Returns: the records, and remarks in words.
  /// - Throws: `offline`, `notFound`.
  func find(
    _ query: PublicQuery, atMost limit: Int, in name: String?
  ) async throws -> (found: [FoundRecord], remarks: [String]) {
    var chosen = try name.map { [try followed($0)] } ?? list()
    chosen.removeAll { $0.address.relay == nil }
    guard !chosen.isEmpty else {
      throw HearthError(
        .notFound, "no catalogue at a relay is followed here: leave --remote out, or follow one")
    }
    var found: [FoundRecord] = []
    var remarks: [String] = []
    for kept in chosen {
      do {
        let present = try catalogues().records(
          of: kept.address.catalogue.id, .followed, type: query.type)
        let (reach, reader) = (reach, device)
        let (records, stale) = try await reach.ask(kept.address, kept.folder, beside: replicas) {
          try await reach.source(kept.address, nil, reader).find(
            query, atMost: limit, present: present, head: kept.head)
        }
        found += records.map { FoundRecord(catalogue: kept.address.catalogue, record: $0) }
        if stale > 0 {
          remarks.append(
            "\(kept.address.catalogue.name): \(stale) older than the local copy were left out; the "
              + "relay is behind, or sends old records")
        }
      } catch let error as TransportError {
        throw HearthError(
          error.code == .relayRefused ? .notFound : .offline, "\(error)", cause: error)
      } catch let error as SyncError {
        throw HearthError(.untrusted, error.message, cause: error)
      }
    }
    return (found, remarks)
  }

  /// Returns the value of a feature flag in the followed catalogues; nil if none has it.
  ///
  /// The highest signed version wins; among catalogues of the same version, the first by name.
  func flag(_ id: String) throws -> Bool? {
    let flags = try records(type: "flag", conditions: [], in: nil).filter {
      $0.record.path.id == id
    }
    func number(_ record: PublicRecord) -> Int64 {
      for field in record.fields where field.name == "version" {
        if case .int(let number) = field.value { return number }
      }
      return 0
    }
    let newest = flags.enumerated().max {
      (number($0.element.record), -$0.offset) < (number($1.element.record), -$1.offset)
    }
    for field in newest?.element.record.fields ?? [] where field.name == "value" {
      if case .bool(let value) = field.value { return value }
    }
    return nil
  }
}
