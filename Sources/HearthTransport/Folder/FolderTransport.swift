import Glibc
import HearthCRDT
import HearthCrypto
import HearthSync
import Synchronization

/// A step of storing one file, in order.
///
/// A test inspects the folder between steps.
enum FolderWriteStep: CaseIterable, Sendable {
  /// The directories exist and are durable.
  case directoriesMade
  /// The temporary file holds the whole content, durably.
  case temporaryWritten
  /// The file has its final name.
  case renamed
  /// The final name is durable.
  case synchronized
}

/// A transport over a plain directory that something else synchronizes: Syncthing, Dropbox, NFS, a
/// USB stick.
///
/// Every file is written once, under a temporary name, made durable, then renamed. A segment's name
/// holds the digest of its content. So a reader detects a cut, damaged or exchanged file, and no
/// two writers ever disagree about a name. Names are hints: a file under another case or inside a
/// conflict copy's name is used if its content has the digest. The transport never follows links
/// and never opens pipes or devices. Its memory use does not grow with what others put into the
/// folder. `docs/reference/folder-layout.md` describes the layout.
///
/// Any number of transports, in any number of processes, may use one folder at once. All methods
/// may be called from any thread; they block on the disk.
package final class FolderTransport: Transport, Sendable {
  /// The folder's path.
  package let path: String

  let bounds: FolderBounds
  private let digest: @Sendable ([UInt8]) -> Identifier
  private let now: @Sendable () -> Int64
  private let probe: @Sendable (FolderWriteStep) -> Void
  private let memory = Mutex(Memory())

  /// State that one instance remembers.
  ///
  /// Losing it costs time, never data.
  private struct Memory {
    /// The inexact places of names in the last listing of each zone.
    var copies: [Identifier: FolderCopies] = [:]
    /// The directories whose entries this instance has made durable.
    var durableDirectories: Set<[FolderName]> = []
  }

  /// Creates a transport for a folder.
  ///
  /// The first call, not this initializer, touches the folder.
  ///
  /// - Parameters:
  ///   - path: the folder, which must exist when it is used.
  ///   - digest: BLAKE2b-128 of sealed bytes.
  ///   - bounds: limits on what is read; only tests choose others.
  ///   - now: seconds since 1970: the age of abandoned temporary files, and whose turn it is where
  ///     there are too many authors.
  package convenience init(
    path: String, digest: @escaping @Sendable ([UInt8]) -> Identifier,
    bounds: FolderBounds = .standard,
    now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }
  ) {
    self.init(path: path, digest: digest, bounds: bounds, now: now, probe: { _ in })
  }

  /// Creates a transport with a callback between the steps of storing.
  init(
    path: String, digest: @escaping @Sendable ([UInt8]) -> Identifier, bounds: FolderBounds,
    now: @escaping @Sendable () -> Int64, probe: @escaping @Sendable (FolderWriteStep) -> Void
  ) {
    self.path = path
    self.digest = digest
    self.bounds = bounds
    self.now = now
    self.probe = probe
  }

  /// A random number for a temporary file's name.
  private static func chance() -> UInt64 {
    RandomBytes.make(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Checks that the folder can be written and puts the note and the top directories into it.
  ///
  /// Call this when a person adds the folder, so that a mistake shows at once. The folder itself is
  /// never created: a path that does not exist is more often a disk that is not mounted.
  ///
  /// - Throws: `TransportError`.
  package func prepare() throws {
    let root = try openRoot()
    let trial = FolderName(FolderLayout.temporaryName(FolderTransport.chance()))
    try inWords(path, doing: "writing into the shared folder", isWriting: true) {
      () throws(SystemFault) in
      try root.write(trial, [])
      try root.remove(trial)
      for top in [
        FolderLayout.segmentsDirectory, FolderLayout.snapshotsDirectory,
        FolderLayout.attachmentsDirectory, FolderLayout.capsulesDirectory,
      ] {
        _ = try root.makeDirectory(FolderName(top))
      }
      try putNote(root)
    }
  }

  /// True: any program and the disk itself can damage files in place.
  package var canDecay: Bool { true }

  /// The file's path below the folder.
  package func place(of name: SegmentName) -> String {
    FolderLayout.path(of: name)?.joined(separator: "/") ?? "\(name.digest)"
  }

  /// Lists the folder's contents of a zone.
  ///
  /// Takes one pass over each directory and opens no file: only fetching shows whether a file is
  /// whole. Abandoned temporary files are removed on the way. Cost: n log n in the number of
  /// entries, because of sorting.
  ///
  /// - Throws: `TransportError` if the folder itself cannot be opened. Every lesser fault becomes a
  ///   problem in the listing.
  package func list(zoneTag: Identifier) throws -> TransportListing {
    try list(zoneTag: zoneTag, preferring: ListingPreference())
  }

  /// Lists the folder's contents of a zone.
  ///
  /// If there are too many logs, the given ones come first.
  package func list(
    zoneTag: Identifier, preferring preference: ListingPreference
  ) throws -> TransportListing {
    let root = try openRoot()
    var survey = FolderSurvey(zoneTag: zoneTag, preferred: preference, bounds: bounds, now: now())
    survey.run(root)
    let copies = survey.copies
    memory.withLock { $0.copies[zoneTag] = copies }
    return survey.listing
  }

  /// Reads a segment from any place where the folder holds a whole copy of it.
  ///
  /// - Throws: `TransportError`: `notFound`, or the file's fault and how to repair it.
  package func fetch(_ name: SegmentName) throws -> [UInt8] {
    guard let path = FolderLayout.path(of: name) else { throw invalidName("\(name)") }
    return try fetch(path.map(FolderName.init), digest: name.digest) {
      try copies(zoneTag: name.zoneTag).segments[name] ?? []
    }
  }

  /// Reads a bundle or chunk; nil if the folder holds none.
  ///
  /// - Throws: `TransportError` if there is one that cannot be used.
  package func fetch(_ name: BlobName) throws -> [UInt8]? {
    guard let path = FolderLayout.path(of: name) else { throw invalidName("\(name)") }
    do {
      switch name.kind {
      case .snapshot, .attachment:
        return try fetch(path.map(FolderName.init), digest: name.digest) {
          try copies(zoneTag: name.scope).chunks[name] ?? []
        }
      case .capsule:
        return try fetch(path.map(FolderName.init), digest: nil) {
          FolderSurvey.capsules(name.scope, in: try openRoot(), bounds: bounds, now: now())
        }
      }
    } catch let error as TransportError where error.code == .notFound {
      return nil
    }
  }

  /// Stores a segment durably.
  ///
  /// An existing whole file is left alone; a damaged one is replaced.
  ///
  /// - Throws: `TransportError`. Nothing of the file is left behind then.
  package func publish(_ name: SegmentName, _ bytes: [UInt8]) throws {
    guard let path = FolderLayout.path(of: name), digest(bytes) == name.digest else {
      throw invalidName("\(name)")
    }
    try store(bytes, at: path.map(FolderName.init))
  }

  /// Stores a bundle or chunk durably, replacing one of the same name.
  ///
  /// - Throws: `TransportError`. Nothing of the file is left behind then.
  package func publish(_ name: BlobName, _ bytes: [UInt8]) throws {
    guard let path = FolderLayout.path(of: name),
      !name.kind.hasDigest || digest(bytes) == name.digest
    else { throw invalidName("\(name)") }
    try store(bytes, at: path.map(FolderName.init))
  }

  /// Removes a segment, and the copies of it that the last listing found.
  ///
  /// - Throws: `TransportError` if it exists and cannot be removed.
  package func remove(_ name: SegmentName) throws {
    guard let path = FolderLayout.path(of: name) else { throw invalidName("\(name)") }
    let copies = memory.withLock {
      $0.copies[name.zoneTag]?.segments.removeValue(forKey: name) ?? []
    }
    try removeFiles([path.map(FolderName.init)] + copies)
  }

  /// Removes a bundle or chunk, and the copies of it that the last listing found.
  ///
  /// - Throws: `TransportError` if it exists and cannot be removed.
  package func remove(_ name: BlobName) throws {
    guard let path = FolderLayout.path(of: name) else { throw invalidName("\(name)") }
    let copies = memory.withLock {
      $0.copies[name.scope]?.chunks.removeValue(forKey: name) ?? []
    }
    try removeFiles([path.map(FolderName.init)] + copies)
  }
}

// MARK: - Reading

extension FolderTransport {
  private func openRoot() throws -> Directory {
    do {
      return try Directory.root(path)
    } catch {
      throw error.error(ofRoot: path)
    }
  }

  /// The inexact places of a zone's names in the last listing.
  ///
  /// Lists the zone if there was no listing.
  private func copies(zoneTag: Identifier) throws -> FolderCopies {
    if let known = memory.withLock({ $0.copies[zoneTag] }) { return known }
    _ = try list(zoneTag: zoneTag)
    return memory.withLock { $0.copies[zoneTag] } ?? FolderCopies()
  }

  /// Reads the file at its exact place, or else the first whole copy.
  private func fetch(
    _ exact: [FolderName], digest: Identifier?, copies: () throws -> [[FolderName]]
  ) throws -> [UInt8] {
    let root = try openRoot()
    var failure: TransportError
    switch read(exact, digest: digest, root: root) {
    case .success(let bytes): return bytes
    case .failure(let error): failure = error
    }
    for copy in try copies() {
      switch read(copy, digest: digest, root: root) {
      case .success(let bytes): return bytes
      case .failure(let error):
        if failure.code == .notFound { failure = error }
      }
    }
    throw failure
  }

  private func read(
    _ path: [FolderName], digest expected: Identifier?, root: borrowing Directory
  ) -> Result<[UInt8], TransportError> {
    let content: Directory.Content
    do throws(SystemFault) {
      content = try FolderTransport.within(path.dropLast(), of: root) {
        directory throws(SystemFault) in
        try directory.read(path[path.count - 1], limit: bounds.maximumFileBytes)
      }
    } catch {
      if error.number == ENOENT { return .failure(FileFault.absent(path.place)) }
      return .failure(
        error.error(at: path.place, doing: "reading", isWriting: false))
    }
    switch content {
    case .missing: return .failure(FileFault.absent(path.place))
    case .notRegular: return .failure(FileFault.notRegular(path.place))
    case .tooLarge(let size):
      return .failure(FileFault.oversized(path.place, size: size, limit: bounds.maximumFileBytes))
    case .bytes(let bytes):
      if bytes.isEmpty { return .failure(FileFault.empty(path.place)) }
      if let expected, digest(bytes) != expected {
        return .failure(FileFault.mismatch(path.place, bytes))
      }
      return .success(bytes)
    }
  }

  /// Opens the directories of a path one inside the other and passes the last one to `body`.
  private static func within<Value>(
    _ path: some Collection<FolderName>, of root: borrowing Directory,
    _ body: (borrowing Directory) throws(SystemFault) -> Value
  ) throws(SystemFault) -> Value {
    guard let first = path.first else { return try body(root) }
    var current = try root.directory(first)
    for name in path.dropFirst() { current = try current.directory(name) }
    return try body(current)
  }

  private func removeFiles(_ paths: [[FolderName]]) throws {
    let root = try openRoot()
    for path in paths {
      do throws(SystemFault) {
        try FolderTransport.within(path.dropLast(), of: root) { directory throws(SystemFault) in
          _ = try directory.remove(path[path.count - 1])
        }
      } catch {
        // If the directory does not exist, the file does not exist either.
        if [ENOENT, ENOTDIR, ELOOP].contains(error.number) { continue }
        throw error.error(at: path.place, doing: "removing", isWriting: true)
      }
    }
  }
}

// MARK: - Storing

extension FolderTransport {
  /// How often storing starts over when the folder changes meanwhile.
  private static let maximumAttempts = 3

  private func store(_ bytes: [UInt8], at path: [FolderName]) throws {
    guard !bytes.isEmpty else {
      throw TransportError(
        .invalidName, place: path.place, message: "there is nothing to store at \(path.place)",
        remedy: "report this as a fault of Hearth")
    }
    guard bytes.count <= bounds.maximumFileBytes else {
      throw FileFault.oversized(
        path.place, size: Int64(bytes.count), limit: bounds.maximumFileBytes)
    }
    let root = try openRoot()
    try inWords(path.place, doing: "storing", isWriting: true) { () throws(SystemFault) in
      // The note only helps people; failing to write it must not keep data back.
      do throws(SystemFault) { try putNote(root) } catch {}
      for attempt in 1... {
        do throws(SystemFault) {
          return try storeOnce(bytes, at: path, root: root)
        } catch {
          // Somebody removed a directory or temporary file between two steps.
          guard error.number == ENOENT, attempt < FolderTransport.maximumAttempts else {
            throw error
          }
          memory.withLock { $0.durableDirectories = [] }
        }
      }
    }
  }

  private func storeOnce(
    _ bytes: [UInt8], at path: [FolderName], root: borrowing Directory
  ) throws(SystemFault) {
    try makeDirectories(path.dropLast(), root: root)
    probe(.directoriesMade)
    try FolderTransport.within(path.dropLast(), of: root) { directory throws(SystemFault) in
      try put(bytes, as: path[path.count - 1], in: directory)
    }
  }

  private func put(
    _ bytes: [UInt8], as name: FolderName, in directory: borrowing Directory
  ) throws(SystemFault) {
    if case .bytes(bytes) = try directory.read(name, limit: bounds.maximumFileBytes) {
      // The writer of the file may have died before it was durable.
      try directory.synchronizeFile(name)
      try directory.synchronize()
      return
    }
    let temporary = FolderName(FolderLayout.temporaryName(FolderTransport.chance()))
    try directory.write(temporary, bytes)
    probe(.temporaryWritten)
    do throws(SystemFault) {
      if try directory.kind(name) == .directory { directory.removeEmptyDirectory(name) }
      try directory.rename(temporary, to: name)
    } catch {
      do throws(SystemFault) { try directory.remove(temporary) } catch {}
      throw error
    }
    probe(.renamed)
    try directory.synchronize()
    probe(.synchronized)
  }

  /// Creates the missing directories of a path and makes their entries durable once.
  private func makeDirectories(
    _ path: ArraySlice<FolderName>, root: borrowing Directory
  ) throws(SystemFault) {
    for depth in path.indices {
      let parent = path[path.startIndex..<depth]
      let name = path[depth]
      let key = Array(path[path.startIndex...depth])
      let isDurable = memory.withLock { $0.durableDirectories.contains(key) }
      try FolderTransport.within(parent, of: root) { directory throws(SystemFault) in
        let isNew = try directory.makeDirectory(name)
        if !isNew, !isDurable { try directory.synchronize() }
      }
      memory.withLock { _ = $0.durableDirectories.insert(key) }
    }
  }

  /// Writes the note if nothing occupies its name.
  private func putNote(_ root: borrowing Directory) throws(SystemFault) {
    let name = FolderName(FolderLayout.noteName)
    guard try root.status(name) == nil else { return }
    try put(Array(FolderLayout.note.utf8), as: name, in: root)
  }

  private func inWords(
    _ place: String, doing: String, isWriting: Bool, _ body: () throws(SystemFault) -> Void
  ) throws {
    do throws(SystemFault) {
      try body()
    } catch {
      throw error.error(at: place, doing: doing, isWriting: isWriting)
    }
  }

  private func invalidName(_ name: String) -> TransportError {
    TransportError(
      .invalidName, place: path, message: "\(name) has no folder path or does not match the bytes",
      remedy: "report this as a fault of Hearth")
  }
}
