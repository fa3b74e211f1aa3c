import Glibc
import HearthCRDT
import HearthMembership
import HearthSync

/// One inotify queue over the directories of some zones, closed with the last reference.
///
/// Not safe to share between threads. `FolderWatcher` keeps it behind its lock and exposes only the
/// descriptor's number, for `poll`.
final class FolderWatch {
  /// Why a folder cannot be watched, for a person.
  struct Refusal: Error {
    let reason: String
  }

  /// The result of reading the pending events.
  enum Verdict {
    case unimportant
    case important
    /// The watch is of no more use, and why.
    case over(String)
  }

  /// The role of a watched directory, which decides which names in it matter.
  private enum Role {
    case root
    /// `z`, `s` or `i`.
    case top(FolderName)
    /// A zone's directory of segments.
    case zone
    /// A directory of files.
    case files
  }

  let descriptor: Int32
  private let zoneTags: Set<Identifier>
  private var directories: [Int32: (path: [FolderName], role: Role)] = [:]
  private let root: FolderName
  private let maximumWatches: Int
  private var refusal: Refusal?

  private init(
    descriptor: Int32, path: String, zoneTags: Set<Identifier>, maximumWatches: Int
  ) {
    self.maximumWatches = maximumWatches
    self.descriptor = descriptor
    self.root = FolderName(path)
    self.zoneTags = zoneTags
  }

  deinit { close(descriptor) }

  /// Starts watching a folder as it is now, and everything of interest that appears in it later.
  static func start(
    path: String, zoneTags: Set<Identifier>, maximumWatches: Int
  ) -> Result<FolderWatch, Refusal> {
    if let carrier = remoteFileSystem(path) {
      return .failure(Refusal(reason: "the folder is on \(carrier), which does not report changes"))
    }
    let descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
    guard descriptor >= 0 else {
      return .failure(
        Refusal(reason: "the system refuses a watch (\(SystemFault.last("inotify")))"))
    }
    let watch = FolderWatch(
      descriptor: descriptor, path: path, zoneTags: zoneTags, maximumWatches: maximumWatches)
    watch.add([], .root)
    if let refusal = watch.refusal { return .failure(refusal) }
    guard !watch.directories.isEmpty else {
      return .failure(Refusal(reason: "the folder does not exist or cannot be read"))
    }
    return .success(watch)
  }

  /// Reads all pending events, and watches directories that appeared.
  func takeEvents() -> Verdict {
    var isImportant = false
    var buffer = [UInt8](repeating: 0, count: FolderWatch.bufferCount)
    while true {
      let count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      let isOver = buffer.withUnsafeBytes { bytes in
        take(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)), &isImportant)
      }
      if isOver { return .over("the folder was moved, deleted or unmounted") }
    }
    if let refusal { return .over(refusal.reason) }
    return isImportant ? .important : .unimportant
  }

  /// The buffer has room for some hundreds of events.
  ///
  /// The next turn reads the rest.
  private static let bufferCount = 64 * 1024

  private static let mask = UInt32(
    IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF
      | IN_MOVE_SELF | IN_ONLYDIR)

  /// - Returns: whether the folder itself is gone.
  private func take(_ bytes: UnsafeRawBufferPointer, _ isImportant: inout Bool) -> Bool {
    let headerCount = MemoryLayout<inotify_event>.size
    var offset = 0
    while offset + headerCount <= bytes.count {
      let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
      let nameStart = offset + headerCount
      let nameEnd = min(bytes.count, nameStart + Int(event.len))
      let name = FolderName(
        bytes: Array(bytes[nameStart..<nameEnd].prefix { $0 != 0 }))
      offset = nameEnd
      if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
        // Events were lost. Report a change, and look for new directories too.
        isImportant = true
        add([], .root)
        continue
      }
      guard let (path, role) = directories[event.wd] else { continue }
      let isGone = UInt32(IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)
      if event.mask & isGone != 0 {
        if path.isEmpty { return true }
        forget(event.wd)
        isImportant = true
        continue
      }
      guard let child = self.role(of: name, in: role) else { continue }
      isImportant = true
      if let child, event.mask & UInt32(IN_ISDIR) != 0,
        event.mask & UInt32(IN_CREATE | IN_MOVED_TO) != 0
      {
        add(path + [name], child)
      }
    }
    return false
  }

  /// Returns what a name in a directory is.
  ///
  /// Nil means that the name does not matter. Otherwise the inner value is the name's role as a
  /// directory, or nil if it should be a file.
  private func role(of name: FolderName, in parent: Role) -> Role?? {
    name.bytes.withUnsafeBufferPointer { bytes -> Role?? in
      switch parent {
      case .root:
        guard
          [
            FolderLayout.segmentsDirectory, FolderLayout.snapshotsDirectory,
            FolderLayout.capsulesDirectory,
          ].contains(where: { FolderEntry.equals(bytes, $0) })
        else { return nil }
        return .some(.top(name))
      case .top(let top):
        if top.isCapsules { return FolderEntry.isLeftover(bytes) ? nil : .some(nil) }
        switch FolderEntry.classify(bytes, as: .zone) {
        case .exact(let fields), .copy(let fields):
          guard zoneTags.contains(fields.identifier(0)) else { return nil }
          return .some(top.isSegments ? .zone : .files)
        default: return nil
        }
      case .zone:
        switch FolderEntry.classify(bytes, as: .author) {
        case .exact, .copy: return .some(.files)
        default: return nil
        }
      case .files: return FolderEntry.isLeftover(bytes) ? nil : .some(nil)
      }
    }
  }

  /// Watches a directory and those of interest inside it.
  ///
  /// The watch is added before the directory is read. So an entry that appears in between is seen
  /// twice rather than never.
  private func add(_ path: [FolderName], _ role: Role) {
    var full = root.bytes
    for name in path { full += [UInt8(ascii: "/")] + name.bytes }
    let noFollow: UInt32 = path.isEmpty ? 0 : UInt32(IN_DONT_FOLLOW)
    let watch = FolderName(bytes: full).withCString {
      inotify_add_watch(descriptor, $0, FolderWatch.mask | noFollow)
    }
    guard watch >= 0 else {
      let fault = SystemFault.last("inotify_add_watch")
      if [ENOSPC, ENOMEM].contains(fault.number) {
        refusal = Refusal(
          reason: "the system's limit of watches is reached (raise fs.inotify.max_user_watches)")
      }
      return
    }
    directories[watch] = (path, role)
    guard directories.count <= maximumWatches else {
      refusal = Refusal(reason: "there are more than \(maximumWatches) directories to watch")
      return
    }
    if case .files = role { return }
    for name in subdirectories(full) where refusal == nil {
      if let child = self.role(of: name, in: role), let child { add(path + [name], child) }
    }
  }

  private func subdirectories(_ path: [UInt8]) -> [FolderName] {
    var names: [FolderName] = []
    do throws(SystemFault) {
      let directory = try Directory.root(String(decoding: path, as: UTF8.self))
      let limit = FolderBounds.standard.maximumDirectories
      try directory.forEachEntry { name, kind throws(SystemFault) in
        if kind == .directory || kind == .unknown { names.append(FolderName(name)) }
        return names.count < limit ? .next : .stop
      }
    } catch {
      // An unreadable directory is not watched. Polling and the listing report it.
    }
    return names
  }

  private func forget(_ watch: Int32) {
    guard let gone = directories.removeValue(forKey: watch) else { return }
    // The system still watches a directory that was moved away, so remove the watches inside it
    // too.
    inotify_rm_watch(descriptor, watch)
    for (inner, entry) in directories where entry.path.starts(with: gone.path) {
      directories.removeValue(forKey: inner)
      inotify_rm_watch(descriptor, inner)
    }
  }

  /// The type of a file system if the kernel does not see changes to it by others; otherwise nil.
  private static func remoteFileSystem(_ path: String) -> String? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    // How glibc splits a device number (makedev(3)).
    let number = UInt64(status.st_dev)
    let major = (number >> 8 & 0xFFF) | (number >> 32 & 0xFFFF_F000)
    let minor = (number & 0xFF) | (number >> 12 & 0xFFFF_FF00)
    let device = "\(major):\(minor)"
    var content = Directory.Content.missing
    do throws(SystemFault) {
      let process = try Directory.root("/proc/self")
      content = try process.read(FolderName("mountinfo"), limit: maximumMountTableBytes)
    } catch {
      // Without the table the folder counts as local. It is still polled, only less often.
    }
    guard case .bytes(let bytes) = content else { return nil }
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      // id, parent, device, root, mount point, options, optional fields, "-", type, source, …
      let fields = line.split(separator: " ")
      guard fields.count > 2, fields[2] == device, let dash = fields.firstIndex(of: "-"),
        dash + 1 < fields.count
      else { continue }
      let type = fields[dash + 1]
      let isRemote = remoteTypes.contains(String(type)) || type.starts(with: "fuse.")
      return isRemote ? String(type) : nil
    }
    return nil
  }

  private static let maximumMountTableBytes = 1024 * 1024
  private static let remoteTypes: Set<String> = [
    "nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "fuse", "virtiofs", "davfs", "glusterfs",
  ]
}

extension FolderName {
  fileprivate var isCapsules: Bool { isTop(FolderLayout.capsulesDirectory) }
  fileprivate var isSegments: Bool { isTop(FolderLayout.segmentsDirectory) }

  private func isTop(_ name: String) -> Bool {
    bytes.withUnsafeBufferPointer { FolderEntry.equals($0, name) }
  }
}
