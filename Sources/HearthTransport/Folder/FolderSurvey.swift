import Glibc
import HearthCRDT
import HearthSync

/// The inexact places where names were found, by name.
struct FolderCopies: Sendable {
  var segments: [SegmentName: [[FolderName]]] = [:]
  var chunks: [BlobName: [[FolderName]]] = [:]
}

/// One pass over a folder's contents of one zone.
///
/// A survey never fails: anything unreadable becomes a problem, and the rest is listed.
struct FolderSurvey {
  /// A name of Hearth's that something other than a file occupies.
  struct Blocked<Name: Hashable> {
    let name: Name
    let error: TransportError
  }

  let zoneTag: Identifier
  /// The logs that come first if there are too many.
  let preferred: ListingPreference
  let bounds: FolderBounds
  let now: Int64

  /// Segments by directory, each sorted.
  private var segments: [[SegmentName]] = []
  private var chunks: [BlobName] = []
  private var blockedSegments: [Blocked<SegmentName>] = []
  private var blockedChunks: [Blocked<BlobName>] = []
  var problems: [TransportProblem] = []
  var untoldProblems = 0
  var untoldHidesData = false
  /// How many names to keep of each directory.
  ///
  /// It sinks if the total is too large.
  private var level: Int
  private var total = 0
  private var copyCount = 0

  /// The inexact places where names were found.
  private(set) var copies = FolderCopies()

  init(
    zoneTag: Identifier, preferred: ListingPreference = ListingPreference(), bounds: FolderBounds,
    now: Int64
  ) {
    self.zoneTag = zoneTag
    self.preferred = preferred
    self.bounds = bounds
    self.now = now
    self.level = bounds.maximumNamesPerDirectory
  }

  /// The names that were found, sorted, each name once.
  var listing: TransportListing {
    let found = unique(chunks.sorted())
    var listing = TransportListing(
      segments: unique(segments.joined().sorted()),
      snapshots: found.filter { $0.kind == .snapshot },
      attachments: found.filter { $0.kind == .attachment }, problems: problems)
    listing.problems += verdicts(blockedSegments, found: listing.segments)
    listing.problems += verdicts(blockedChunks, found: found)
    if untoldProblems > 0 {
      listing.problems.append(
        TransportProblem(
          place: ".", fault: "\(untoldProblems) more problems of the same kinds are not listed",
          remedy: "repair those that are, and sync again", hidesData: untoldHidesData))
    }
    listing.problems.sort { ($0.place, $0.fault) < ($1.place, $1.fault) }
    return listing
  }

  /// Surveys the folder.
  mutating func run(_ root: borrowing Directory) {
    let tops = topDirectories(root)
    var isZoneThere = false
    for top in tops.segments {
      inside([top], of: root) { survey, directory in
        for zone in survey.zones(directory, place: [top]) {
          isZoneThere = true
          survey.surveyZone(zone, of: directory, place: [top])
        }
      }
    }
    for (kind, _) in FolderLayout.chunkDirectories {
      for top in tops.chunks[kind] ?? [] {
        inside([top], of: root) { survey, directory in
          for zone in survey.zones(directory, place: [top]) {
            isZoneThere = true
            survey.surveyChunks(kind, zone, of: directory, place: [top])
          }
        }
      }
    }
    for top in tops.capsules {
      inside([top], of: root) { survey, directory in
        _ = survey.scan(directory, place: [top], as: .capsule, wanting: .file, isShared: true)
      }
    }
    if !isZoneThere, !tops.hasNote {
      report(
        TransportProblem(
          place: ".",
          fault: "the folder holds neither \(FolderLayout.noteName) nor anything of this household",
          remedy: "check that it is the right folder, that its disk is mounted, and that the "
            + "program that syncs it has finished; if so, nothing is lost: this sync writes there "
            + "what this device has", hidesData: true))
    }
  }

  /// Returns the inexact places of an invitation bundle.
  static func capsules(
    _ scope: Identifier, in root: borrowing Directory, bounds: FolderBounds, now: Int64
  ) -> [[FolderName]] {
    var survey = FolderSurvey(zoneTag: scope, bounds: bounds, now: now)
    var found: [[FolderName]] = []
    for top in survey.topDirectories(root).capsules {
      survey.inside([top], of: root) { survey, directory in
        let scan = survey.scan(
          directory, place: [top], as: .capsule, wanting: .file, isShared: true)
        for child in scan.items where child.fields.identifier(0) == scope {
          found.append([top, child.name ?? FolderName("\(scope.hex).cap")])
        }
      }
    }
    return found
  }
}

// MARK: - Traversal

extension FolderSurvey {
  private struct Tops {
    var segments: [FolderName] = []
    var chunks: [BlobName.Kind: [FolderName]] = [:]
    var capsules: [FolderName] = []
    var hasNote = false

    mutating func take(_ name: UnsafeBufferPointer<UInt8>) {
      if FolderEntry.equals(name, FolderLayout.noteName.lowercased()) {
        hasNote = true
      } else if FolderEntry.equals(name, FolderLayout.segmentsDirectory) {
        segments.append(FolderName(name))
      } else if FolderEntry.equals(name, FolderLayout.capsulesDirectory) {
        capsules.append(FolderName(name))
      } else if let kind = FolderLayout.chunkDirectories.first(where: {
        FolderEntry.equals(name, $0.directory)
      })?.kind {
        chunks[kind, default: []].append(FolderName(name))
      }
    }
  }

  /// Hearth's directories in the root, in any case that a sync program gave them.
  private mutating func topDirectories(_ root: borrowing Directory) -> Tops {
    var tops = Tops()
    var temporaries: [FolderName] = []
    var entries = 0
    let (limit, kept) = (bounds.maximumEntries, bounds.maximumProblems)
    do throws(SystemFault) {
      try root.forEachEntry { name, _ throws(SystemFault) in
        entries += 1
        tops.take(name)
        if FolderEntry.isTemporary(name), temporaries.count < kept {
          temporaries.append(FolderName(name))
        }
        return entries <= limit ? .next : .stop
      }
    } catch { tell(error, []) }
    if entries > bounds.maximumEntries { tellTooManyEntries([]) }
    sweep(temporaries, in: root)
    tops.segments.sort()
    for (kind, _) in FolderLayout.chunkDirectories { tops.chunks[kind]?.sort() }
    tops.capsules.sort()
    return tops
  }

  /// The zone's directories in a top directory: normally one.
  private mutating func zones(
    _ directory: borrowing Directory, place: [FolderName]
  ) -> [FolderName] {
    let zoneTag = zoneTag
    let scan = scan(
      directory, place: place, as: .zone, wanting: .directory, isShared: true,
      keeping: { $0.identifier(0) == zoneTag })
    for blocked in scan.blocked { tellNotDirectory(place + [blocked.name]) }
    return scan.items.map { $0.name ?? FolderName(zoneTag.hex) }
  }

  private mutating func surveyZone(
    _ zone: FolderName, of directory: borrowing Directory, place: [FolderName]
  ) {
    inside(place + [zone], of: directory) { survey, directory in
      let authors = survey.scan(
        directory, place: place + [zone], as: .author, wanting: .directory, isShared: false)
      for blocked in authors.blocked { survey.tellNotDirectory(place + [zone, blocked.name]) }
      for author in survey.chosen(authors.items, place + [zone]) {
        let name =
          author.name
          ?? FolderName(
            FolderLayout.authorDirectory(author.fields.identifier(0), author.fields.number(2)))
        survey.inside(place + [zone, name], of: directory) { survey, directory in
          survey.surveyAuthor(author, in: directory, place: place + [zone, name])
        }
      }
    }
  }

  /// The author directories to read: all, or as many as the bound allows.
  ///
  /// The logs that the zone has or expects are all read; their number has a bound of its own. Of
  /// the others, the known devices come first, but some places are strangers' in any case: a
  /// newcomer is one. In each group, every device's first incarnation comes before any device's
  /// second. With which strangers the listing begins changes every hour, but not during a sync. So
  /// neither a flood of names nor a device with many incarnations hides anybody for long.
  private mutating func chosen(
    _ authors: [FolderHarvest.Item], _ place: [FolderName]
  ) -> [FolderHarvest.Item] {
    let bound = bounds.maximumDirectories
    guard authors.count > bound else { return authors }
    var lives: [Identifier: Int] = [:]
    var (own, known, strangers): ([Int], [Int], [Int]) = ([], [], [])
    let ranks = authors.enumerated().map { place, item in
      let log = TagAuthor(tag: item.fields.identifier(0), incarnation: item.fields.number(2))
      if preferred.logs.contains(log) {
        own.append(place)
      } else if preferred.devices.contains(log.tag) {
        known.append(place)
      } else {
        strangers.append(place)
      }
      defer { lives[log.tag, default: 0] += 1 }
      return lives[log.tag, default: 0]
    }
    guard known.count + strangers.count > bound else { return authors }
    tellTooManyAuthors(place)
    let shift = Int((now / 3_600).magnitude % UInt64(authors.count))
    known.sort { (ranks[$0], $0) < (ranks[$1], $1) }
    strangers.sort {
      (ranks[$0], ($0 + shift) % authors.count) < (ranks[$1], ($1 + shift) % authors.count)
    }
    let places = min(strangers.count, max(bound / 4, bound - known.count))
    let kept = own + known.prefix(bound - places) + strangers.prefix(places)
    return kept.sorted().map { authors[$0] }
  }

  private mutating func surveyAuthor(
    _ author: FolderHarvest.Item, in directory: borrowing Directory, place: [FolderName]
  ) {
    let zoneTag = zoneTag
    let isExactPlace =
      author.name == nil && place[0] == FolderName(FolderLayout.segmentsDirectory)
      && place[1] == FolderName(zoneTag.hex)
    func name(_ file: FolderFields) -> SegmentName? {
      FolderLayout.segment(zone: zoneTag, author: author.fields, file: file)
    }
    let files = scan(
      directory, place: place, as: .segment, wanting: .file, isShared: false,
      keeping: { name($0) != nil })
    for blocked in files.blocked {
      guard let name = name(blocked.fields) else { continue }
      let error = FileFault.notRegular((place + [blocked.name]).place)
      blockedSegments.append(Blocked(name: name, error: error))
    }
    var names: [SegmentName] = []
    names.reserveCapacity(files.items.count)
    for file in files.items {
      guard let name = name(file.fields) else { continue }
      if file.name != nil || !isExactPlace {
        guard hasRoomForCopy() || names.last == name else { continue }
        if let exact = FolderLayout.path(of: name), hasRoomForCopy() {
          copyCount += 1
          copies.segments[name, default: []].append(
            place + [file.name ?? FolderName(exact[exact.count - 1])])
        }
      }
      if names.last != name { names.append(name) }
    }
    total += names.count
    segments.append(names)
    lowerLevel()
  }

  private mutating func surveyChunks(
    _ kind: BlobName.Kind, _ zone: FolderName, of directory: borrowing Directory,
    place: [FolderName]
  ) {
    let zoneTag = zoneTag
    let isExactPlace =
      FolderLayout.chunkDirectories.contains {
        $0.kind == kind && place[0] == FolderName($0.directory)
      } && zone == FolderName(zoneTag.hex)
    func name(_ file: FolderFields) -> BlobName? {
      FolderLayout.chunk(kind, zone: zoneTag, file: file)
    }
    inside(place + [zone], of: directory) { survey, directory in
      let files = survey.scan(
        directory, place: place + [zone], as: FolderLayout.pattern(of: kind), wanting: .file,
        isShared: false, keeping: { name($0) != nil })
      for blocked in files.blocked {
        guard let name = name(blocked.fields) else { continue }
        let error = FileFault.notRegular((place + [zone, blocked.name]).place)
        survey.blockedChunks.append(Blocked(name: name, error: error))
      }
      for file in files.items {
        guard let name = name(file.fields) else { continue }
        if file.name != nil || !isExactPlace {
          guard survey.hasRoomForCopy(), let exact = FolderLayout.path(of: name) else {
            continue
          }
          survey.copyCount += 1
          survey.copies.chunks[name, default: []].append(
            place + [zone, file.name ?? FolderName(exact[exact.count - 1])])
        }
        survey.chunks.append(name)
      }
      if kind == .attachment, isExactPlace, files.isOverfull || files.isCut {
        survey.surveyGiven(in: directory)
      }
    }
  }

  /// Names the chunks that this node gives and that are there, if there are too many to name all.
  private mutating func surveyGiven(in directory: borrowing Directory) {
    for digest in preferred.chunks.sorted() {
      let name = BlobName(kind: .attachment, scope: zoneTag, digest: digest)
      guard let file = FolderLayout.path(of: name)?.last else { continue }
      do throws(SystemFault) {
        if try directory.kind(FolderName(file)) == .file { chunks.append(name) }
      } catch {
        // What cannot be looked at is given again.
        continue
      }
    }
  }

  /// Whether one more copy's place may be remembered.
  ///
  /// Reports a problem if not.
  private mutating func hasRoomForCopy() -> Bool {
    if copyCount < bounds.maximumCopies { return true }
    tellTooManyCopies()
    return false
  }

  /// Reads one directory and reports its problems, except for blocked names.
  ///
  /// - Parameter isShared: whether other zones use the directory too. Foreign files are then not
  ///   reported.
  private mutating func scan(
    _ directory: borrowing Directory, place: [FolderName], as pattern: FolderPattern,
    wanting wanted: Directory.Kind, isShared: Bool,
    keeping: (FolderFields) -> Bool = { _ in true }
  ) -> FolderScan {
    var scan = FolderScan(as: pattern, wanting: wanted, bound: level, bounds: bounds)
    do throws(SystemFault) {
      try scan.read(directory, keeping: keeping)
    } catch { tell(error, place) }
    scan.finish()
    if scan.isCut { tellTooManyEntries(place) }
    if scan.isOverfull { tellTooManyNames(place, bound: level) }
    if !isShared { tellRubbish(scan, place) }
    sweep(scan.temporaries, in: directory)
    return scan
  }

  /// Removes abandoned temporary files.
  ///
  /// A file that is still being written is recent. If a clock is so wrong that such a file is
  /// removed all the same, its writer starts over.
  private func sweep(_ names: [FolderName], in directory: borrowing Directory) {
    for name in names {
      do throws(SystemFault) {
        guard let status = try directory.status(name), status.st_mode & S_IFMT == S_IFREG,
          now - Int64(status.st_mtim.tv_sec) > bounds.temporaryLifetimeSeconds
        else { continue }
        try directory.remove(name)
      } catch {
        // A read-only folder keeps its leftovers: they only waste space.
        continue
      }
    }
  }

  /// Cuts all directories to the same length if there are too many names in total.
  private mutating func lowerLevel() {
    guard total > bounds.maximumNames else { return }
    while total > bounds.maximumNames, level > 1 {
      level /= 2
      for place in segments.indices where segments[place].count > level {
        segments[place].removeLast(segments[place].count - level)
      }
      total = segments.reduce(0) { $0 + $1.count }
    }
    tellTooManyNames([FolderName(FolderLayout.segmentsDirectory)], bound: bounds.maximumNames)
  }

  /// Opens the last directory of a path inside its parent.
  ///
  /// Reports a problem if that fails.
  private mutating func inside(
    _ path: [FolderName], of parent: borrowing Directory,
    _ body: (inout FolderSurvey, borrowing Directory) -> Void
  ) {
    do throws(SystemFault) {
      let directory = try parent.directory(path[path.count - 1])
      body(&self, directory)
    } catch {
      tell(error, path)
    }
  }
}
