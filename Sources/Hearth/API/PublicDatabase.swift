import Foundation
import HearthCRDT
import HearthRelayProtocol
import HearthStore

/// A catalogue that this node follows, and the copy that is on this device.
public struct FollowedCatalogue: Hashable, Sendable {
  /// The catalogue's name, which its publisher chose.
  public let name: String
  /// The fingerprint of the publisher's key, to compare with what the publisher announces.
  public let publisher: String
  /// The address by which it is followed.
  public let address: String
  /// The version that is here; nil before the first one has arrived.
  public let version: UInt64?
  /// When that version was last confirmed as the newest, by this device's clock; nil if never.
  public let checked: Date?
  /// Why the last look for a newer version failed, in words; nil if it did not.
  public let problem: String?

  init(_ kept: KeptCatalogue) {
    name = kept.address.catalogue.name
    publisher = kept.address.catalogue.fingerprint
    address = kept.address.description
    version = kept.head?.version
    checked = kept.checkedAt == 0 ? nil : Date(milliseconds: kept.checkedAt)
    problem = kept.problem
  }
}

/// What publishing a catalogue has done.
public struct PublishedCatalogue: Sendable {
  /// One place to which it was published.
  public struct Place: Sendable {
    /// The relay's address, or the folder's path.
    public let place: String
    /// The address that readers follow; those of a folder also need its path.
    public let address: String
    /// The number of items that were sent.
    public let sent: Int
    /// The number of items that were removed there.
    public let removed: Int
    /// Why nothing was published there, in words; nil on success.
    public let problem: String?
  }

  /// The catalogue's name.
  public let name: String
  /// The published version.
  public let version: UInt64
  /// The number of its items.
  public let count: Int
  /// Whether it differs from the version before.
  public let isNew: Bool
  /// The places, in order.
  public let places: [Place]

  init(_ report: PublishReport) {
    name = report.catalogue.name
    version = report.version
    count = report.count
    isNew = report.isNew
    places = report.places.map {
      Place(
        place: $0.place, address: $0.address.description, sent: $0.sent, removed: $0.removed,
        problem: $0.failure)
    }
  }
}

/// What everybody may read: catalogues of items, each signed by its publisher.
///
/// ```swift
/// let recipes = try await node.publicDatabase.items(
///   Recipe.self, where: .atMost("minutes", 20))
/// ```
///
/// Readers need no account. They trust the publisher's key in the address, and not the relay or
/// folder that carries the catalogue. Items are read from the copy on this device, offline too.
/// They are no records: nobody but the publisher changes them, and no zone holds them.
public struct PublicDatabase: Sendable {
  let node: Node

  // MARK: Reading

  /// Follows a catalogue: trusts the key in its address, and fetches it.
  ///
  /// A catalogue whose relay cannot be reached is followed too, and fetched later.
  ///
  /// - Parameters:
  ///   - address: what the publisher gives to readers.
  ///   - folder: the folder that holds the catalogue, if the address names no relay.
  /// - Throws: ``HearthError``: `invalid` for an address that is none; `notFound` if the place has
  ///   no such catalogue; `untrusted` if what is there is not the publisher's.
  @discardableResult
  public func follow(
    _ address: String, folder: String? = nil
  ) async throws(HearthError) -> FollowedCatalogue {
    try await reported {
      FollowedCatalogue(try await node.catalogues.follow(address, folder: folder).kept)
    }
  }

  /// Stops following a catalogue, and deletes the copy.
  ///
  /// - Throws: ``HearthError``: `notFound`.
  public func unfollow(_ catalogue: FollowedCatalogue) async throws(HearthError) {
    try await reported { _ = try await node.catalogues.unfollow(catalogue.address) }
  }

  /// Returns the followed catalogues, in order of name.
  public func followed() async throws(HearthError) -> [FollowedCatalogue] {
    try await reported { try await node.catalogues.list().map { FollowedCatalogue($0) } }
  }

  /// Looks for newer versions of all followed catalogues.
  ///
  /// A failure leaves the copy as it is, and is a catalogue's ``FollowedCatalogue/problem``.
  ///
  /// - Returns: the catalogues of which a newer version has arrived.
  @discardableResult
  public func refresh() async throws(HearthError) -> [FollowedCatalogue] {
    try await reported {
      try await node.catalogues.refresh().filter(\.isNew).map { FollowedCatalogue($0.kept) }
    }
  }

  /// Returns the items of a type that meet all conditions, from the copies on this device.
  ///
  /// - Parameters:
  ///   - type: the type.
  ///   - conditions: what the items' indexed values must meet.
  ///   - catalogue: the only catalogue to look in; nil for all.
  public func items<Item: PublicItem>(
    _ type: Item.Type, where conditions: ItemCondition..., in catalogue: FollowedCatalogue? = nil
  ) async throws(HearthError) -> PublicItems<Item> {
    try await reported {
      PublicItems(
        try await node.catalogues.records(
          type: Item.itemType, conditions: try Self.checked(conditions), in: catalogue?.address))
    }
  }

  /// Asks the relays of followed catalogues for items, for what is not on this device yet.
  ///
  /// Every item's signature is verified. Items older than the copy on this device are left out.
  ///
  /// - Parameters:
  ///   - type: the type.
  ///   - conditions: what the items' indexed values must meet.
  ///   - limit: the most items.
  ///   - catalogue: the only catalogue to ask for; nil for all.
  /// - Throws: ``HearthError``: `offline`; `notFound` if no catalogue at a relay is followed;
  ///   `untrusted` if a relay answers what no publisher signed.
  public func search<Item: PublicItem>(
    _ type: Item.Type, where conditions: ItemCondition..., limit: Int = 100,
    in catalogue: FollowedCatalogue? = nil
  ) async throws(HearthError) -> PublicItems<Item> {
    try await reported {
      let query = try PublicQuery(type: Item.itemType, conditions: try Self.checked(conditions))
      let (found, remarks) = try await node.catalogues.find(
        query, atMost: limit, in: catalogue?.address)
      return PublicItems(found, remarks: remarks)
    }
  }

  private static func checked(_ conditions: [ItemCondition]) throws -> [PublicCondition] {
    try conditions.map { item in
      guard let condition = item.condition else {
        throw HearthError(.invalid, "a condition on items compares with nothing or with bytes")
      }
      return condition
    }
  }

  // MARK: Publishing

  /// The fingerprint of this node's publisher's key; nil if it has none.
  public var publisher: String? {
    get async throws(HearthError) {
      try await Hearth.reported { try await node.publishing.fingerprint() }
    }
  }

  /// Makes a publisher's key for this node.
  ///
  /// Everybody who follows a catalogue of it trusts this key. Keep a copy with
  /// ``exportPublisher(to:passphrase:)``: without it, nobody can publish another version.
  ///
  /// - Returns: the key's fingerprint.
  /// - Throws: ``HearthError``: `exists` if the node has one.
  @discardableResult
  public func makePublisher() async throws(HearthError) -> String {
    try await reported { try await node.publishing.makeKey() }
  }

  /// Writes the publisher's secret to a key file under a passphrase.
  ///
  /// - Throws: ``HearthError``: `notFound` if the node has none; `exists` if there is a file; `io`.
  public func exportPublisher(
    to path: String, passphrase: String
  ) async throws(HearthError) {
    try await reported {
      try await node.publishing.exportKey(passphrase: Array(passphrase.utf8), to: path)
    }
  }

  /// Makes this node a publisher with the secret of a key file.
  ///
  /// Publish from one node at a time: two versions with one number would contradict each other.
  ///
  /// - Returns: the key's fingerprint.
  /// - Throws: ``HearthError``: `exists` if the node has a key; `passphrase`, `corrupt`,
  ///   `notFound`.
  @discardableResult
  public func importPublisher(
    from path: String, passphrase: String
  ) async throws(HearthError) -> String {
    try await reported {
      try await node.publishing.importKey(passphrase: Array(passphrase.utf8), from: path)
    }
  }

  /// Signs the items of a catalogue and sends the changes to all of its places.
  ///
  /// The signed version is stored before anything is sent. Publishing the same items again sends
  /// nothing. A place that cannot be reached gets the version with the next call.
  ///
  /// - Parameters:
  ///   - items: all items of the catalogue; those of before that are missing are retired.
  ///   - name: the catalogue's name: 1 to 32 of a-z, 0-9 and hyphens.
  ///   - places: further relays' addresses and folders, which are remembered.
  ///   - leastVersion: the lowest acceptable version, for a publisher whose node was lost.
  ///   - token: the registration token of a relay that asks for one.
  /// - Throws: ``HearthError``: `notFound` without a publisher's key; `invalid` for an item or name
  ///   beyond a limit.
  @discardableResult
  public func publish(
    _ items: [any PublicItem], as name: String, to places: [String] = [],
    leastVersion: UInt64 = 1, token: String? = nil
  ) async throws(HearthError) -> PublishedCatalogue {
    try await reported {
      PublishedCatalogue(
        try await node.publishing.publish(
          try items.map { try $0.record() }, named: name, leastVersion: leastVersion, to: places,
          token: token))
    }
  }
}

extension HearthNode {
  /// What everybody may read: the catalogues that this node follows and publishes.
  public var publicDatabase: PublicDatabase { PublicDatabase(node: node) }
}
