import HearthCRDT
import HearthCrypto
import HearthSync

/// A file of a simulated shared folder.
enum FolderFile: Hashable, Comparable {
  case segment(SegmentName)
  case blob(BlobName)

  static func < (left: FolderFile, right: FolderFile) -> Bool {
    switch (left, right) {
    case (.segment(let left), .segment(let right)): left < right
    case (.blob(let left), .blob(let right)): left < right
    case (.segment, .blob): true
    case (.blob, .segment): false
    }
  }

  /// The digest that the content must have; nil for a capsule.
  var digest: Identifier? {
    switch self {
    case .segment(let name): name.digest
    case .blob(let name): name.kind == .capsule ? nil : name.digest
    }
  }

  /// A number for dice and traces.
  var key: UInt64 {
    switch self {
    case .segment(let name): name.digest.low
    case .blob(let name): name.digest.low ^ name.scope.low &+ UInt64(name.index)
    }
  }
}

/// One device's copy of the shared folder: what its node sees of the others.
///
/// The behaviour of the real folder at the level of its port: files appear whole or damaged, come
/// late, come back, and listings may be old. Who carries files between copies is the world.
final class SimFolder: Transport {
  /// A change of this copy, for those who carry it on.
  struct Entry {
    let file: FolderFile
    let isRemoval: Bool
    let time: UInt64
    /// Counts what happened to the file anywhere: even where it was put, odd where it was removed.
    let version: UInt64
  }

  private(set) var files: [FolderFile: [UInt8]] = [:]
  /// How far each file's story is known here.
  ///
  /// As in real carriers, older news never undoes newer: else a file and its removal would chase
  /// each other around the family for ever.
  private(set) var versions: [FolderFile: UInt64] = [:]
  /// What happened to this copy, in order.
  private(set) var log: [Entry] = []
  /// Files that were removed and by whom does not matter: a carrier may bring them back.
  private(set) var removed: [FolderFile] = []
  /// Files that are missing here for a while, as they were.
  private var lost: [FolderFile: [UInt8]] = [:]
  /// Whether the folder is there at all.
  var isPresent = true
  /// Whether its disk is full.
  var isFull = false
  /// Whether it may only be read.
  var isReadOnly = false
  /// Names that a listing still shows or hides, as a cache would.
  private var staleListing: [Identifier: TransportListing] = [:]
  private(set) var isStale = false
  /// Zones of which the node sees no more than there was.
  private var frozen: [Identifier: TransportListing] = [:]
  /// What lies in the folder that is not ours.
  var rubbish: [TransportProblem] = []
  private var sorted: [Identifier: TransportListing] = [:]
  /// Files whose bytes were found to be what their names say, and have not changed since.
  ///
  /// The real folder hashes at every reading; here nobody but this copy can change what it holds,
  /// so that a second look would only cost time.
  private var sound: Set<FolderFile> = []
  /// The virtual time; the world sets it.
  var now: UInt64 = 0
  /// Called with every file that the node itself stores.
  var didPublish: (FolderFile, [UInt8]) -> Void = { _, _ in }
  /// Called with every file that the node itself is about to take away.
  var willRemove: (FolderFile) -> Void = { _ in }
  private(set) var publishedFiles = 0
  private(set) var publishedBytes = 0
  /// How many bytes the node read of it.
  private(set) var fetchedBytes = 0

  // MARK: The port

  var canDecay: Bool { true }

  func place(of name: SegmentName) -> String { "\(name.digest)" }

  func list(zoneTag: Identifier) throws -> TransportListing {
    try check()
    if let old = frozen[zoneTag] { return old }
    if isStale, let old = staleListing[zoneTag] { return old }
    var listing: TransportListing
    if let known = sorted[zoneTag] {
      listing = known
    } else {
      listing = TransportListing()
      for file in files.keys {
        switch file {
        case .segment(let name) where name.zoneTag == zoneTag: listing.segments.append(name)
        case .blob(let name) where name.kind == .snapshot && name.scope == zoneTag:
          listing.snapshots.append(name)
        default: break
        }
      }
      listing.segments.sort()
      listing.snapshots.sort()
      sorted[zoneTag] = listing
    }
    listing.problems = rubbish
    staleListing[zoneTag] = listing
    return listing
  }

  func fetch(_ name: SegmentName) throws -> [UInt8] {
    try check()
    let file = FolderFile.segment(name)
    guard let bytes = files[file] else {
      throw TransportError(
        .notFound, place: place(of: name), message: "the file is not there any more",
        remedy: "sync again")
    }
    fetchedBytes += bytes.count
    return try verified(bytes, of: file)
  }

  func fetch(_ name: BlobName) throws -> [UInt8]? {
    try check()
    let file = FolderFile.blob(name)
    fetchedBytes += files[file]?.count ?? 0
    return try files[file].map { try verified($0, of: file) }
  }

  private func verified(_ bytes: [UInt8], of file: FolderFile) throws -> [UInt8] {
    guard let digest = file.digest, !sound.contains(file) else { return bytes }
    guard segmentDigest(bytes) == digest else {
      throw TransportError(
        .contentMismatch, place: "\(digest)", message: "the file is damaged or still arriving",
        remedy: "sync again later")
    }
    sound.insert(file)
    return bytes
  }

  func publish(_ name: SegmentName, _ bytes: [UInt8]) throws {
    try store(.segment(name), bytes)
  }

  func publish(_ name: BlobName, _ bytes: [UInt8]) throws {
    try store(.blob(name), bytes)
  }

  private func store(_ file: FolderFile, _ bytes: [UInt8]) throws {
    try check()
    guard !isReadOnly else {
      throw TransportError(
        .folderReadOnly, place: "folder", message: "the folder may not be written",
        remedy: "change its permissions")
    }
    guard !isFull else {
      throw TransportError(
        .diskFull, place: "folder", message: "the disk is full", remedy: "free some space")
    }
    if files[file] == bytes { return }
    put(file, bytes)
    publishedFiles += 1
    publishedBytes += bytes.count
    didPublish(file, bytes)
  }

  func remove(_ name: SegmentName) throws {
    try check()
    willRemove(.segment(name))
    take(.segment(name))
  }

  func remove(_ name: BlobName) throws {
    try check()
    willRemove(.blob(name))
    take(.blob(name))
  }

  private func check() throws {
    guard isPresent else {
      throw TransportError(
        .folderMissing, place: "folder", message: "the shared folder does not exist",
        remedy: "plug it in")
    }
  }

  // MARK: What the world does to it

  /// Puts a file there, as its node or a carrier does.
  func put(_ file: FolderFile, _ bytes: [UInt8], version: UInt64? = nil) {
    let known = versions[file] ?? 0
    var next = version ?? (files[file] == nil && lost[file] == nil ? (known | 1) + 1 : known)
    // What is put in the place of other bytes is news too, and of two the later one wins, as by the
    // times that carriers look at: an answer to whoever asks replaces one of before, the right
    // bytes replace damaged ones.
    if version == nil, file.digest == nil || files[file] != nil, files[file] != bytes {
      next = max((known | 1) + 1, now &* 2)
    }
    files[file] = bytes
    sound.remove(file)
    lost[file] = nil
    versions[file] = next
    log.append(Entry(file: file, isRemoval: false, time: now, version: next))
    forgetListing(of: file)
  }

  /// A file that is here has another version elsewhere, of the same bytes.
  func note(_ version: UInt64, of file: FolderFile) {
    versions[file] = max(versions[file] ?? 0, version)
  }

  /// Takes a file away; without a version nothing if it is not there.
  func take(_ file: FolderFile, version: UInt64? = nil) {
    let wasLost = lost.removeValue(forKey: file) != nil
    let wasThere = files.removeValue(forKey: file) != nil || wasLost
    guard wasThere || version != nil else { return }
    if wasThere { removed.append(file) }
    let next = version ?? (versions[file] ?? 0) + 1
    versions[file] = next
    log.append(Entry(file: file, isRemoval: true, time: now, version: next))
    forgetListing(of: file)
  }

  /// Begins with an empty copy that knows of nothing, as a new folder does.
  func wipe() {
    files = [:]
    sound = []
    lost = [:]
    versions = [:]
    sorted = [:]
    staleListing = [:]
  }

  /// Changes what stands under a name without telling anybody, as a failing disk does.
  func damage(_ file: FolderFile, _ bytes: [UInt8]) {
    guard files[file] != nil else { return }
    files[file] = bytes
    sound.remove(file)
  }

  /// A file is missing without anybody knowing of it, as when a carrier has not got to it yet.
  func lose(_ file: FolderFile) {
    guard let bytes = files.removeValue(forKey: file) else { return }
    lost[file] = bytes
    forgetListing(of: file)
  }

  /// Puts right what was damaged or is missing.
  func mend(_ file: FolderFile, _ bytes: [UInt8]) {
    if lost.removeValue(forKey: file) != nil, files[file] == nil {
      files[file] = bytes
      sound.remove(file)
      forgetListing(of: file)
    } else {
      damage(file, bytes)
    }
  }

  /// Puts everything right that is missing without anybody knowing of it.
  func mendLost() {
    for (file, bytes) in lost.sorted(by: { $0.key < $1.key }) { mend(file, bytes) }
  }

  /// Lets listings stay as they were until it is ended.
  func setStale(_ isStale: Bool) {
    self.isStale = isStale
  }

  /// Lets the node see nothing new of a zone.
  func freeze(_ zoneTag: Identifier) {
    frozen[zoneTag] = sorted[zoneTag] ?? TransportListing()
  }

  func unfreeze() { frozen = [:] }

  /// All files in order.
  var names: [FolderFile] { files.keys.sorted() }

  private func forgetListing(of file: FolderFile) {
    switch file {
    case .segment(let name): sorted[name.zoneTag] = nil
    case .blob(let name): sorted[name.scope] = nil
    }
  }
}
