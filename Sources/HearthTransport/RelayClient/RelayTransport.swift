import HearthCRDT
import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// A connection to one relay as a transport uses it.
///
/// ``RelayLink`` implements it over sockets. A simulation implements it over unreliable
/// connections.
package protocol RelayLine: AnyObject {
  /// The relay's address.
  var address: RelayAddress { get }
  /// Registers a mailbox's keys and cursor.
  func know(_ access: MailboxAccess, cursor: RelayCursor?)
  /// Prefetches mailboxes: opens all of them at the same time, without waiting.
  func wish(for accesses: [(access: MailboxAccess, cursor: RelayCursor?)])
  /// Asks about a known mailbox and waits for the answer.
  ///
  /// - Throws: `RelayFailure`.
  func ask(_ mailbox: Identifier, _ question: RelayQuestion) async throws -> RelayOutcome
  /// Asks about a known mailbox, waits for the answer and reports how many bytes went over the
  /// connection since the question.
  ///
  /// - Throws: `RelayFailure`.
  func ask(
    _ mailbox: Identifier, _ question: RelayQuestion, telling: (@Sendable (Int) -> Void)?
  ) async throws -> RelayOutcome
}

extension RelayLine {
  package func ask(
    _ mailbox: Identifier, _ question: RelayQuestion, telling: (@Sendable (Int) -> Void)?
  ) async throws -> RelayOutcome {
    try await ask(mailbox, question)
  }
}

/// The mailboxes of zones and rendezvous, with their keys.
package struct RelayDirectory: Sendable {
  /// The mailbox of each zone, by the zone's tag.
  package var zones: [Identifier: MailboxAccess] = [:]
  /// The mailbox of each invitation or recovery bundle, by the bundle's scope.
  package var capsules: [Identifier: MailboxAccess] = [:]
  /// The zones' mailboxes that may be parents of other mailboxes, the preferred one first.
  package var parents: [Identifier] = []

  package init() {}
}

/// A transport over a relay: each zone and each rendezvous is a mailbox there.
///
/// The transport stores an index of each mailbox's contents, so that it requests only new entries.
/// The relay need not be honest. Names contain digests, which the transport checks. It also
/// computes the log's chain itself, so it notices a log that was lost, set back or exchanged. It
/// then reports a problem and lists the log anew, and the engine stores again what is missing. Not
/// thread-safe: it belongs to a node.
package final class RelayTransport: Transport {
  /// The connection.
  package let link: any RelayLine
  /// The known mailboxes; the node sets them before an exchange.
  package var directory: RelayDirectory
  /// The groups in the relay's scope; set by the node.
  package var carried = CarriedGroups.everything
  let memory: any RelayMemory
  private let digest: ([UInt8]) -> Identifier
  var indices: [Identifier: Known] = [:]
  /// The segments that the engine will request, in order, and those that arrived early.
  private var expected: [SegmentName] = []
  private var early: [SegmentName: [UInt8]] = [:]
  /// The devices' keys at relays, by relay and device key.
  ///
  /// Computing one takes a scalar multiplication.
  var pseudonyms: [[UInt8]: [UInt8]] = [:]
  /// The rosters' digests at this device's last check, and the opening of that check.
  var lists: [Identifier: (opening: UInt64, digest: Bytes16)] = [:]
  /// The relay's latest refusal.
  private(set) var refusal: RelayFailure?
  /// Segments whose bytes do not match their names, up to a maximum number.
  private(set) var spoilt: Set<SegmentName> = []
  /// The most mismatching segments to remember.
  private static let maximumSpoilt = 65_536
  /// Problems of this round to report to the user.
  var notices: [TransportProblem] = []
  /// The listener and the counts for the progress of transfers.
  var listener: TransferListener?
  var meter: TransferMeter

  struct Known {
    var index: RelayMailboxIndex
    /// The latest opening, until it is evaluated.
    var news: RelayOpening?
    /// Whether the index changed since it was last stored.
    var isDirty = false
    var problem: TransportProblem?
  }

  package init(
    link: any RelayLine, memory: any RelayMemory, directory: RelayDirectory = RelayDirectory(),
    digest: @escaping ([UInt8]) -> Identifier
  ) {
    self.link = link
    self.memory = memory
    self.directory = directory
    self.digest = digest
    meter = TransferMeter(place: RelayTransport.place(link.address))
  }

  /// Returns another view of the same relay, with the same connection and memory but other
  /// mailboxes.
  package func view(_ directory: RelayDirectory) -> RelayTransport {
    RelayTransport(link: link, memory: memory, directory: directory, digest: digest)
  }

  /// Host and port, for people.
  package var place: String { RelayTransport.place(link.address) }

  private static func place(_ address: RelayAddress) -> String {
    "\(address.host):\(address.port)"
  }

  package func place(of name: SegmentName) -> String { "\(place), \(name.digest)" }

  // MARK: Mailboxes

  /// Begins to open the mailboxes of all zones at the same time, so that a round does not wait for
  /// one after the other.
  package func prepare() throws {
    for mailbox in indices.keys { indices[mailbox]?.news = nil }
    let accesses = directory.zones.keys.sorted().compactMap { directory.zones[$0] }
    link.wish(for: try accesses.map { ($0, try known($0.mailbox).index.cursor) })
  }

  /// Opens a mailbox, or returns how it was opened.
  ///
  /// - Throws: `TransportError.relayRefused` if no key opens it, and the other relay errors.
  @discardableResult
  package func open(_ access: MailboxAccess) async throws -> RelayOpening {
    let access = belonging(access)
    if access.mayCreate {
      for parent in access.parents {
        guard let zone = directory.zones.values.first(where: { $0.mailbox == parent }) else {
          continue
        }
        link.know(zone, cursor: try known(parent).index.cursor)
      }
    }
    let index = try known(access.mailbox).index
    link.know(access, cursor: index.cursor)
    guard case .opened(let opening) = try await ask(access.mailbox, .open) else {
      throw inconsistent("its answer does not match the request")
    }
    return opening
  }

  /// Returns an access whose possible parent mailboxes are filled in if it names none.
  package func belonging(_ access: MailboxAccess) -> MailboxAccess {
    guard access.child != nil, access.parents.isEmpty else { return access }
    var access = access
    access.parents = directory.parents
    return access
  }

  /// Opens a zone's mailbox before it is listed.
  package func open(zoneTag: Identifier) async throws -> RelayOpening {
    let access = try access(zoneTag)
    let opening = try await open(access)
    if opening.isNew { indices[access.mailbox]?.news = opening }
    return opening
  }

  /// Sets the access key of a zone's mailbox to the first of its keys.
  package func rotate(zoneTag: Identifier) async throws {
    let access = try access(zoneTag)
    try await open(access)
    _ = try await ask(access.mailbox, .rotate)
  }

  func access(_ zoneTag: Identifier) throws -> MailboxAccess {
    guard let access = directory.zones[zoneTag] else { throw refused() }
    return access
  }

  func ask(
    _ mailbox: Identifier, _ question: RelayQuestion, telling: (@Sendable (Int) -> Void)? = nil
  ) async throws -> RelayOutcome {
    do {
      return try await link.ask(mailbox, question, telling: telling)
    } catch let failure as RelayFailure {
      refusal = failure
      throw words(failure, about: mailbox)
    }
  }

  func reply(
    _ mailbox: Identifier, _ question: RelayQuestion, telling: (@Sendable (Int) -> Void)? = nil
  ) async throws -> RelayReply {
    guard case .reply(let reply) = try await ask(mailbox, question, telling: telling) else {
      throw inconsistent("its answer does not match the request")
    }
    return reply
  }

  // MARK: Listing

  /// Lists what the relay holds of a zone; requests only new entries.
  package func list(zoneTag: Identifier) async throws -> TransportListing {
    let access = try access(zoneTag)
    try await update(access)
    var listing = TransportListing()
    var strange = 0
    for bytes in try known(access.mailbox).index.sortedNames {
      switch RelayName(bytes, zoneTag: zoneTag) {
      case .segment(let name): listing.segments.append(name)
      case .chunk(let name): listing.snapshots.append(name)
      case .grant, .capsule: break
      case nil: strange += 1
      }
    }
    listing.segments.sort()
    listing.snapshots.sort()
    if let problem = indices[access.mailbox]?.problem {
      listing.problems.append(problem)
      indices[access.mailbox]?.problem = nil
    }
    if strange > 0 {
      listing.problems.append(
        TransportProblem(
          place: place, fault: "\(strange) entries have names that this program does not know",
          remedy: "update this program if others use a newer one", hidesData: false))
    }
    return listing
  }

  private func known(_ mailbox: Identifier) throws -> Known {
    if let known = indices[mailbox] { return known }
    let kept = try memory.load(memoryName(mailbox))
    let index = kept.flatMap { try? RelayMailboxIndex(decoding: $0) }
    let known = Known(
      index: index?.mailbox == mailbox ? index ?? .init(mailbox: mailbox) : .init(mailbox: mailbox))
    indices[mailbox] = known
    return known
  }

  func memoryName(_ mailbox: Identifier, _ what: String = "index") -> String {
    // A certificate from an authority may change without consequence, so the address identifies the
    // relay instead.
    if link.address.asksAuthorities { return "relay.\(what).\(place).\(mailbox.hex)" }
    let relay = link.address.pin.array.prefix(8).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    return "relay.\(what).\(relay).\(mailbox.hex)"
  }

  /// Updates the index of a mailbox to the relay's log.
  private func update(_ access: MailboxAccess) async throws {
    let mailbox = access.mailbox
    let opening = try await open(access)
    var known = try known(mailbox)
    let before = known.index
    let news = opening.isNew ? opening : known.news?.number == opening.number ? known.news : nil
    known.news = nil
    var isCurrent = false
    if before.generation == nil {
      known.index.begin(generation: opening.opened.head.generation)
    } else if let opening = news, opening.cursor == before.cursor || opening.isCreated {
      if !Mutant.trustsOldIndex.isActive, let fault = judge(opening.opened, against: before) {
        known.problem = TransportProblem(
          place: place, fault: fault,
          remedy: "nothing needs to be done: this device publishes its data there again",
          hidesData: false, isSetBack: true)
      }
      if known.problem != nil || opening.opened.head.generation != before.generation {
        known.index.begin(generation: opening.opened.head.generation)
      }
    }
    if let opening = news {
      // The opening states the log's end, so no listing is necessary if there is nothing new.
      isCurrent =
        opening.opened.head.position == known.index.position
        && opening.opened.chain == known.index.chain
      Probe.openingSparedListing.hit(if: isCurrent)
    }
    if !isCurrent, try await !takeNews(&known), try await !follow(&known.index) {
      Probe.logContradicted.hit()
      known.problem = TransportProblem(
        place: place, fault: "the relay contradicts what it reported of its log",
        remedy: "nothing needs to be done: this device publishes its data there again",
        hidesData: false, isSetBack: true)
      known.index.begin(generation: opening.opened.head.generation)
      guard try await follow(&known.index) else {
        throw inconsistent("its log contradicts itself")
      }
    }
    // What could not be stored is stored by a later round, even if that round learns nothing.
    if known.index != before, !Mutant.storesLogOnce.isActive { known.isDirty = true }
    indices[mailbox] = known
    if known.index != before || known.isDirty { try save(mailbox) }
  }

  /// Returns how the log contradicts the known part, in words; nil if it continues that part.
  private func judge(_ opened: RelayOpened, against index: RelayMailboxIndex) -> String? {
    guard let cursor = index.cursor else { return nil }
    guard opened.head.generation == cursor.generation else {
      Probe.logLost.hit(if: index.position > 0)
      return index.position > 0 ? "the relay lost its data, or restarted its log" : nil
    }
    switch opened.standing {
    case .known(let chain):
      Probe.logExchanged.hit(if: chain != index.chain)
      return chain == index.chain ? nil : "the relay's log is not the one that it showed before"
    case .beyondHead:
      Probe.logSetBack.hit()
      return "the relay's log was rolled back: it ends before what it had shown"
    case .otherGeneration: return "the relay restarted its log"
    case .none: return "the relay restarted its log"
    }
  }

  private func save(_ mailbox: Identifier) throws {
    guard let known = indices[mailbox] else { return }
    try memory.save(memoryName(mailbox), known.index.encoded)
    indices[mailbox]?.isDirty = false
  }

  /// Stores what is known of each changed mailbox; otherwise the next round repeats the listing.
  package func keep() throws {
    for mailbox in indices.keys.sorted() where indices[mailbox]?.isDirty == true {
      try save(mailbox)
    }
  }

  // MARK: Segments

  package func expect(_ names: [SegmentName]) {
    expected = names.reversed()
    early = [:]
    if listener != nil { tell(meter.expect(files: names.count, bytes: byteCount(of: names))) }
  }

  /// Reads a segment, together with some of the segments expected next.
  package func fetch(_ name: SegmentName) async throws -> [UInt8] {
    if let bytes = early.removeValue(forKey: name) { return bytes }
    let access = try access(name.zoneTag)
    let (batch, byteCount) = try batch(from: name, access.mailbox)
    try await open(access)
    let question = RelayQuestion.fetch(batch.map { RelayName.segment($0).bytes })
    let reply = try await reply(access.mailbox, moving: question, .receiving, atMost: byteCount)
    guard case .blobs(let blobs) = reply else {
      throw inconsistent("its answer does not match the request")
    }
    let came = blobs.compactMap(\.self)
    tell(meter.receive(files: came.count, bytes: came.reduce(0) { $0 + $1.count }))
    for (name, blob) in zip(batch, blobs).dropFirst() {
      if let blob, digest(blob) == name.digest { early[name] = blob }
    }
    guard let blob = blobs.first ?? nil else {
      throw TransportError(
        .notFound, place: place(of: name), message: "the relay lacks a segment that it listed",
        remedy: "sync again; its author puts it back")
    }
    guard digest(blob) == name.digest else {
      if spoilt.count < RelayTransport.maximumSpoilt { spoilt.insert(name) }
      throw TransportError(
        .contentMismatch, place: place(of: name),
        message: "the relay's bytes do not match the name",
        remedy: "sync again; if that does not help, use another relay")
    }
    return blob
  }

  /// Returns a name, the names expected after it that fit into one answer, and their total size.
  private func batch(
    from name: SegmentName, _ mailbox: Identifier
  ) throws -> (names: [SegmentName], byteCount: Int) {
    let index = try known(mailbox).index
    var batch = [name]
    var byteCount = index.byteCount(of: RelayName.segment(name).bytes) ?? 0
    while let next = expected.last {
      guard next != name else {
        expected.removeLast()
        continue
      }
      let length = index.byteCount(of: RelayName.segment(next).bytes) ?? 0
      guard next.zoneTag == name.zoneTag, batch.count < RelayLimits.maximumBatchItems,
        byteCount + length <= RelayLimits.maximumBatchBytes
      else { break }
      byteCount += length
      batch.append(next)
      expected.removeLast()
    }
    return (batch, byteCount)
  }

  package func publish(_ name: SegmentName, _ bytes: [UInt8]) async throws {
    try await publish([(name, bytes)])
  }

  /// Stores segments, as many per request as it holds.
  package func publish(_ segments: [(name: SegmentName, bytes: [UInt8])]) async throws {
    var batch: [RelayPut] = []
    var byteCount = 0
    var zoneTag: Identifier?
    for (name, bytes) in segments {
      let put = RelayPut(name: RelayName.segment(name).bytes, blob: bytes)
      guard digest(bytes) == name.digest, bytes.count <= RelayLimits.maximumBlobBytes else {
        throw TransportError(
          .invalidName, place: place, message: "a name that does not match these bytes",
          remedy: "report this as a fault of Hearth")
      }
      let cost = put.name.count + put.blob.count
      if zoneTag != name.zoneTag || batch.count == RelayLimits.maximumBatchItems
        || byteCount + cost > RelayLimits.maximumBatchBytes
      {
        if let zoneTag { try await store(batch, in: access(zoneTag)) }
        batch = []
        byteCount = 0
        zoneTag = name.zoneTag
      }
      batch.append(put)
      byteCount += cost
    }
    if let zoneTag { try await store(batch, in: access(zoneTag)) }
  }

  package var keepsAuthorsApart: Bool { true }

  package func remove(_ name: SegmentName) async throws { try await remove([name]) }

  // MARK: Blobs

  package func fetch(_ name: BlobName) async throws -> [UInt8]? {
    let (access, bytes) = try place(of: name)
    guard let access else { return nil }
    do {
      try await open(access)
      if listener != nil { tell(meter.expect(name) { byteCount(from: name) }) }
      let reply = try await reply(
        access.mailbox, moving: .fetch([bytes]), .receiving,
        atMost: indices[access.mailbox]?.index.byteCount(of: bytes) ?? 0)
      guard case .blobs(let blobs) = reply, let blob = blobs.first ?? nil else { return nil }
      if name.kind == .snapshot { tell(meter.receive(files: 1, bytes: blob.count)) }
      guard name.kind == .capsule || digest(blob) == name.digest else {
        throw TransportError(
          .contentMismatch, place: place, message: "the relay's bytes do not match the name",
          remedy: "sync again; if that does not help, use another relay")
      }
      return blob
    } catch let error as TransportError where error.code == .relayRefused && name.kind == .capsule {
      return nil
    }
  }

  package func publish(_ name: BlobName, _ bytes: [UInt8]) async throws {
    let (access, place) = try place(of: name)
    guard let access else { throw refused() }
    let put = RelayPut(name: place, isReplaceable: name.kind == .capsule, blob: bytes)
    try await store([put], in: access)
  }

  package func remove(_ name: BlobName) async throws {
    let (access, place) = try place(of: name)
    guard let access else { return }
    try await remove([place], in: access)
  }

  /// Returns the grant for a recipient in a rekey handoff; nil if there is none.
  package func grant(_ name: RelayName, in access: MailboxAccess) async throws -> [UInt8]? {
    try await open(access)
    guard case .blobs(let blobs) = try await reply(access.mailbox, .fetch([name.bytes])) else {
      return nil
    }
    return blobs.first ?? nil
  }

  /// Stores grants in a rekey handoff, replacing existing ones.
  package func give(_ grants: [(name: RelayName, bytes: [UInt8])], in access: MailboxAccess)
    async throws
  {
    let puts = grants.map { RelayPut(name: $0.name.bytes, isReplaceable: true, blob: $0.bytes) }
    for start in stride(from: 0, to: puts.count, by: RelayLimits.maximumBatchItems) {
      try await store(
        Array(puts[start..<min(puts.count, start + RelayLimits.maximumBatchItems)]), in: access)
    }
  }

  private func place(of name: BlobName) throws -> (MailboxAccess?, [UInt8]) {
    switch name.kind {
    case .capsule: (directory.capsules[name.scope], RelayName.capsule(name.scope).bytes)
    case .snapshot: (try access(name.scope), RelayName.chunk(name).bytes)
    }
  }
}
