import HearthCRDT

/// The step of an exchange that reads again files that were whole once, and repairs those that are
/// damaged now.
///
/// Decision 0043 explains the reasons.
struct FileRepair<Turns: ReplicaTurns, Link: Transport> {
  let ports: ExchangePorts<Turns, Link>

  /// Reads listed files again, and repairs those that are damaged.
  ///
  /// A device with a segment never fetches it again. Without this, only a newcomer would find that
  /// a disk or a program has damaged it, and nobody else would know. A damaged file is never
  /// removed, because a shared folder would remove whole copies too: the right bytes are written in
  /// its place. A damaged file whose bytes are not here counts as missing, so its changes are
  /// published in other files.
  ///
  /// - Returns: The listing without what is damaged and was not repaired.
  func upkeep(
    of id: ZoneID, holding listing: TransportListing, _ check: FileCheck,
    _ report: inout TransportReport
  ) async throws -> TransportListing {
    guard ports.transport.canDecay, !Mutant.leavesDamage.isActive else { return listing }
    var segments: Set<SegmentName> = []
    var chunks: Set<BlobName> = []
    var bytes = 0
    let blobs = listing.snapshots + listing.attachments
    let count = listing.segments.count + blobs.count
    for place in FileCheck.places(of: count, check, id, ports.nowMilliseconds) {
      if check == .some, bytes >= FileCheck.checkedBytes { break }
      let name = place < listing.segments.count ? listing.segments[place] : nil
      do {
        if let name {
          bytes += try await ports.transport.fetch(name).count
        } else {
          let chunk = blobs[place - listing.segments.count]
          bytes += try await ports.transport.fetch(chunk)?.count ?? 0
        }
      } catch let error as TransportError where error.isDamage {
        Probe.fileDecayed.hit()
        if let name {
          if try await rewrite(name, of: id, &report) { continue }
          segments.insert(name)
        } else {
          chunks.insert(blobs[place - listing.segments.count])
        }
        report.unmended += 1
        report.note(
          TransportProblem(
            place: error.place, fault: error.message,
            remedy: "delete it: a device that has the content publishes it", hidesData: false))
      } catch let error as TransportError {
        // A file that cannot be read now may be readable later, or was removed meanwhile.
        if check == .all, error.code != .notFound {
          report.unmended += 1
          report.note(error.problem(hidesData: false))
        }
      }
    }
    guard !segments.isEmpty || !chunks.isEmpty else { return listing }
    var whole = listing
    whole.segments.removeAll { segments.contains($0) }
    whole.snapshots.removeAll { chunks.contains($0) }
    whole.attachments.removeAll { chunks.contains($0) }
    return whole
  }

  /// Examines again what was wrong with names when a round began, and notes what is right now.
  ///
  /// A link in the place of a file is replaced by the file when it is published again; without
  /// this, it would still be reported.
  func settle(
    _ listings: [ZoneID: TransportListing], _ report: inout TransportReport
  ) async throws {
    let before = Set(listings.values.flatMap(\.problems).filter { !$0.isSetBack })
    var after: Set<TransportProblem> = []
    if !before.isEmpty {
      for id in listings.keys.sorted() {
        await after.formUnion(
          try ports.transport.list(of: try ports.turn { try $0.zone(id) }).problems)
      }
    }
    report.settle(before.subtracting(after))
  }

  /// Writes a segment's bytes over a file that should hold them.
  ///
  /// - Returns: Whether the bytes are here, so that nothing else can be done about the file in this
  ///   round.
  private func rewrite(
    _ name: SegmentName, of id: ZoneID, _ report: inout TransportReport
  ) async throws -> Bool {
    guard let right = try ports.turn({ try $0.store.log.bytes(of: name.digest, in: id) }) else {
      return false
    }
    do {
      try await ports.transport.publish(name, right)
      report.mended(ports.transport.place(of: name))
      Probe.fileRestored.hit()
    } catch let error as TransportError {
      // A folder that accepts no files can still be read.
      report.unmended += 1
      report.note(error.problem(hidesData: false))
    }
    return true
  }
}

extension Transport {
  /// A zone's unusable files on a transport: damaged ones, and things that are no files under a
  /// segment's name; reads them all and changes nothing.
  package func damage(of zone: ZoneState) async throws -> [TransportProblem] {
    guard canDecay else { return [] }
    let listing = try await list(of: zone)
    var found = listing.problems.filter(\.hidesData)
    func look(_ read: () async throws -> Void) async throws {
      do {
        try await read()
      } catch let error as TransportError {
        if error.code != .notFound { found.append(error.problem(hidesData: true)) }
      }
    }
    for name in listing.segments { try await look { _ = try await fetch(name) } }
    for name in listing.snapshots + listing.attachments {
      try await look { _ = try await fetch(name) }
    }
    return found
  }
}

extension TransportError {
  /// Whether there is a file whose content is not what its name says.
  fileprivate var isDamage: Bool { [.contentMismatch, .emptyFile, .tooLarge].contains(code) }

  /// Whether there is something under the name that cannot be the file, or is not a file at all.
  package var isOfFile: Bool { isDamage || code == .notRegularFile }
}
