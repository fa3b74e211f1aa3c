import HearthCRDT
import HearthRelayCore
import HearthRelayProtocol
import HearthSync

/// What a program may take away from a folder or a relay: only what is still there without it
/// (O12).
///
/// Looked at with every removal, not only in the end: what merged segments replace goes after they
/// are there, so that whoever comes between finds everything, and so does whoever comes after a
/// power cut between the two. Told by names alone, and only by those that honest programs stored.
enum Remains {
  /// - Parameters:
  ///   - removed: what a program takes away.
  ///   - files: what is there before.
  /// - Returns: what is there no more; nil where nothing is lost.
  static func lost(_ removed: [FolderFile], of files: [FolderFile], in world: World) -> String? {
    let gone = Set(removed)
    let left = files.filter { !gone.contains($0) && world.isHonest($0) }
    for file in removed where world.isHonest(file) && files.contains(file) {
      switch file {
      case .segment(let name):
        SimProbe.mergedTakenAway.hit()
        let others = left.compactMap { other -> SegmentName? in
          guard case .segment(let other) = other, other.zoneTag == name.zoneTag,
            other.authorTag == name.authorTag, other.incarnation == name.incarnation
          else { return nil }
          return other
        }
        if !covers(others, name) {
          return "\(Words.file(file)) is taken away, and nothing else there holds it"
        }
      case .blob(let name):
        guard name.kind == .snapshot, isWhole(name, in: files),
          !left.contains(where: { other in
            guard case .blob(let other) = other, other.kind == .snapshot,
              other.scope == name.scope
            else { return false }
            return isWhole(other, in: left)
          })
        else { continue }
        return "the only snapshot is taken away"
      }
    }
    return nil
  }

  private static func covers(_ names: [SegmentName], _ name: SegmentName) -> Bool {
    var reached = name.first - 1
    for other in names.sorted(by: { $0.first < $1.first })
    where other.first <= reached + 1 && other.last > reached {
      reached = other.last
    }
    return reached >= name.last
  }

  private static func isWhole(_ chunk: BlobName, in files: [FolderFile]) -> Bool {
    let places = files.compactMap { file -> Int? in
      guard case .blob(let other) = file, other.scope == chunk.scope, other.group == chunk.group
      else { return nil }
      return other.index
    }
    return Set(places).count == chunk.count
  }
}

extension World {
  /// Whether a file is of an honest program.
  func isHonest(_ file: FolderFile) -> Bool {
    archive[file] != nil && file.digest.map { !forged.contains($0) } ?? true
  }

  /// A device's program is about to take a file out of its copy of the folder.
  func removing(_ file: FolderFile, by device: SimDevice) {
    // Whoever sees an old listing, or has no sign of its own past, cannot know what is there.
    guard !device.folder.isStale, !unaware.contains(device.index),
      let words = Remains.lost([file], of: Array(device.folder.files.keys), in: self)
    else { return }
    find(fail(.garbage, device, words))
  }
}

extension SimRelay {
  /// What the honest relay is asked to remove, and what it holds before.
  func removal(_ write: RelayWrite) -> (removed: [FolderFile], files: [FolderFile])? {
    guard face == nil, let log, case .remove(let names) = write.action else { return nil }
    var files: [FolderFile] = []
    var after: UInt64 = 0
    while true {
      let read = RelayRead(
        mailbox: write.mailbox, authority: write.authority,
        question: .list(after: after, limit: 1_000, isLiveOnly: true))
      guard case .listing(let page)? = try? log.read(read) else { return nil }
      files += page.headers.compactMap { SimRelay.file($0.name, in: write.mailbox) }
      guard page.through < page.head, page.through > after else { break }
      after = page.through
    }
    return (names.compactMap { SimRelay.file($0, in: write.mailbox) }, files)
  }

  /// What an entry of a relay would be in a folder; nil for what only relays have.
  static func file(_ name: [UInt8], in mailbox: Identifier) -> FolderFile? {
    switch RelayName(name, zoneTag: mailbox) {
    case .segment(let name): .segment(name)
    case .chunk(let name), .attachment(let name): .blob(name)
    case .capsule(let scope): .blob(BlobName(kind: .capsule, scope: scope))
    case .grant, nil: nil
    }
  }
}
