import HearthCRDT
import HearthCrypto
import HearthMembership

/// One zone as the engine uses it: its keys, and how far every author's log is applied.
package struct ZoneState: Sendable {
  package let id: ZoneID
  package let group: GroupID
  package let kind: ZoneKind
  package let database: DatabaseKind
  /// The zone's name: its founding name, unless a shell displays another one.
  package var name: String
  /// The name that the zone was founded with.
  package let foundingName: String
  /// The zone's constant secret, from which its opaque tags and chain hashes derive.
  let secret: ZoneSecret
  /// The epochs whose keys this device has, in the order in which it learned them.
  package private(set) var epochs: [EpochKey]
  /// The epoch that the control log designates for writing; nil if it designates no usable one.
  var writeEpoch: [UInt8]?
  /// Whether a new epoch must be created before anything more is sealed.
  package internal(set) var isEpochOver = false
  /// Where the logs of authors with a proven fork end.
  ///
  /// In a control zone, all branches of such a log continue as parallel histories.
  package internal(set) var forkEnds: [Author: UInt64] = [:]
  /// How far each author's log is applied, in order of author.
  package private(set) var heads: [LogHead]
  /// The heads as a frontier.
  package private(set) var frontier: Frontier
  /// The authors that had logs here before the heads were removed for a rebuild.
  private var placed: Set<Author> = []
  /// The zone's opaque tag on transports.
  package let tag: Identifier
  /// The devices by opaque author tag.
  private(set) var deviceByTag: [Identifier: DeviceID] = [:]
  /// The opaque author tags by device.
  private var tagByDevice: [DeviceID: Identifier] = [:]
  /// How far the logs go that somebody had who let this device in.
  private(set) var expectedLogs: [TagAuthor: UInt64] = [:]

  init(
    _ stored: StoredZone, secret: ZoneSecret, epochs: [EpochKey], heads: [LogHead]
  ) {
    id = stored.id
    group = stored.group
    kind = stored.kind
    database = stored.database
    name = stored.name
    foundingName = stored.name
    self.secret = secret
    self.epochs = epochs
    self.heads = heads.sorted { $0.author < $1.author }
    frontier = Frontier(heads.map { ($0.author, $0.sequence) })
    tag = Identifier(secret.zoneTag)
  }

  /// The epoch to write under.
  var currentEpoch: EpochKey? {
    epochs.first { $0.id == writeEpoch } ?? epochs.last
  }

  /// The epoch with an id, if its key is known.
  func epoch(id: [UInt8]) -> EpochKey? { epochs.first { $0.id == id } }

  /// Whether the key of an epoch is known.
  package func holdsEpoch(_ id: [UInt8]) -> Bool { epoch(id: id) != nil }

  /// Whether the key of the epoch with a sealed blob's opaque tag is known.
  func holdsEpoch(tagged tag: Identifier) -> Bool { epochs.contains { Identifier($0.tag) == tag } }

  /// The ids of the epochs whose keys are known.
  var heldEpochs: Set<[UInt8]> { Set(epochs.map(\.id)) }

  /// The number of known epoch keys.
  package var epochCount: Int { epochs.count }

  /// Takes over the keys that this device keeps, in the order in which it learned them.
  mutating func hold(_ kept: [EpochKey]) { epochs = kept }

  /// Adds a key unless it is known already.
  mutating func learn(_ epoch: EpochKey) {
    if self.epoch(id: epoch.id) == nil { epochs.append(epoch) }
  }

  /// The epoch with a segment's opaque tag.
  func epoch(tag: Bytes16) -> EpochKey? {
    epochs.first { $0.tag == tag }
  }

  /// The head of an author's log; the empty head before the first change if the author is unknown.
  package func head(of author: Author) -> LogHead {
    let place = position(of: author)
    return place < heads.count && heads[place].author == author
      ? heads[place] : LogHead(author: author)
  }

  /// The number of incarnations of a device with changes in this zone.
  func lives(of device: DeviceID) -> Int {
    var place = position(of: Author(device: device, incarnation: 0))
    let first = place
    while place < heads.count, heads[place].author.device == device { place += 1 }
    return place - first
  }

  /// Sets the head of an author's log.
  mutating func set(_ head: LogHead) {
    let place = position(of: head.author)
    if place < heads.count, heads[place].author == head.author {
      heads[place] = head
    } else {
      heads.insert(head, at: place)
    }
    frontier.advance(head.author, to: head.sequence)
  }

  /// Whether an author had a log here before the zone was rebuilt, and keeps its place.
  func hadPlace(_ author: Author) -> Bool { placed.contains(author) }

  /// Removes every head before the zone is rebuilt from its log.
  mutating func resetHeads() {
    placed = Set(heads.map(\.author))
    heads = []
    frontier = Frontier()
  }

  /// The opaque tag of a device in this zone.
  package func authorTag(of device: DeviceID) -> Identifier {
    if let known = tagByDevice[device] { return known }
    guard let tag = try? secret.authorTag(deviceID: device.bytes) else {
      preconditionFailure("a device id has 16 bytes")
    }
    return Identifier(tag)
  }

  /// Whether an author's log is applied up to a change, or up to the log's earlier end.
  func reaches(_ author: Author, _ sequence: UInt64) -> Bool {
    let reached = frontier[author]
    return reached >= sequence || reached >= (forkEnds[author] ?? .max) - 1
  }

  /// The frontier for the question of whether a change still has to arrive.
  ///
  /// Changes beyond the end of a forked log are not awaited and count as reached.
  package var reached: Frontier {
    var reached = frontier
    for (author, end) in forkEnds where frontier[author] >= end - 1 {
      reached.advance(author, to: Frontier.maximumSequence)
    }
    return reached
  }

  /// Whether any change up to some heads is void, or a log of the zone is forked.
  func isAnythingVoid(through heads: [LogHead], in membership: Membership) -> Bool {
    !forkEnds.isEmpty
      || heads.contains {
        membership.changes.isOverruled(
          Dot(author: $0.author, sequence: $0.sequence), in: id, at: $0.controlSeen)
      }
  }

  /// Registers devices, so that their tags are recognised.
  mutating func recognise(_ devices: [DeviceID]) {
    for device in devices {
      let tag = authorTag(of: device)
      deviceByTag[tag] = device
      tagByDevice[device] = tag
    }
  }

  /// Registers logs that the zone has, although the log here does not name their devices yet.
  mutating func expect(_ logs: Frontier) {
    for entry in logs.entries {
      let log = TagAuthor(
        tag: authorTag(of: entry.author.device), incarnation: entry.author.incarnation)
      expectedLogs[log] = max(expectedLogs[log] ?? 0, entry.sequence)
    }
  }

  /// Whether a segment claims to belong to the part of a log that somebody had who let this device
  /// in.
  func expects(_ log: TagAuthor, from first: UInt64) -> Bool {
    first <= expectedLogs[log] ?? 0
  }

  /// The hash of an encoded change in the chain of its log.
  func chainHash(of change: [UInt8]) -> [UInt8] {
    change.withUnsafeBytes { secret.chainHash(of: $0) }
  }

  private func position(of author: Author) -> Int {
    heads.partitionPoint { $0.author >= author }
  }
}
