import CSimVFS
import GRDBSQLite

/// The disk of one simulated node: files in memory, with the faults of real disks, under SQLite.
///
/// Everything it does follows from its seed and its calls. It keeps two views of its files: the
/// current one, which a running machine sees, and the durable one, the least a power cut
/// leaves. A sync copies the first to the second; a cut throws dice over every 512-byte sector and
/// every name that was not synced. SQLite opens `path(for:)` on the VFS `vfsName`.
///
/// Not for use by several threads at once, although SQLite's own threads may share it.
package final class SimDisk {
  /// When a created, deleted or renamed name is durable.
  package enum Profile: CaseIterable, Hashable, Sendable {
    /// As ext4: names change in order, and every sync of a file commits those before it.
    case ordered
    /// As little as POSIX promises: only a sync of the directory makes names durable.
    case adversarial
    /// As where directories cannot be synced: a sync makes a file's own name durable only, so that
    /// a deleted file comes back unless its deletion was asked to be durable.
    case lazyUnlink

    fileprivate var code: simdisk_profile {
      switch self {
      case .ordered: SIMDISK_ORDERED
      case .adversarial: SIMDISK_ADVERSARIAL
      case .lazyUnlink: SIMDISK_LAZY_UNLINK
      }
    }
  }

  /// One of the two states of the files.
  package enum View: CaseIterable, Hashable, Sendable {
    /// What a running machine sees.
    case current
    /// The least that a power cut leaves.
    case durable

    fileprivate var code: Int32 { self == .durable ? 1 : 0 }
  }

  /// The steps of writing a small file; leaving one out simulates a program that forgot it.
  package struct WriteSteps: OptionSet, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    /// Write "<name>.tmp", then rename it.
    package static let renaming = WriteSteps(rawValue: SIMDISK_WRITE_ATOMICALLY)
    /// Sync the bytes (before renaming).
    package static let syncingFile = WriteSteps(rawValue: SIMDISK_SYNC_FILE)
    /// Sync the directory at the end.
    package static let syncingDirectory = WriteSteps(rawValue: SIMDISK_SYNC_DIRECTORY)
    /// All of them: old or new bytes after any cut, and new ones once the call returned.
    package static let durably: WriteSteps = [.renaming, .syncingFile, .syncingDirectory]
  }

  /// The name under which SQLite finds all simulated disks; registered by the first disk.
  package static let vfsName = "hearth-simdisk"

  private let disk: OpaquePointer
  /// When names are durable on this disk.
  package let profile: Profile

  /// Makes an empty disk.
  ///
  /// - Parameters:
  ///   - seed: decides all dice of this disk.
  ///   - profile: when names are durable.
  ///   - isPowersafeOverwrite: whether a torn write leaves the bytes beside it alone, as SQLite
  ///     assumes by default. Without it the whole sector is damaged, and SQLite is told so.
  package init(seed: UInt64, profile: Profile = .ordered, isPowersafeOverwrite: Bool = true) {
    let status = simdisk_register(SimDisk.vfsName)
    precondition(status == SQLITE_OK, "the simulated disks cannot be registered: \(status)")
    guard let created = simdisk_create(seed) else {
      preconditionFailure("no memory for a simulated disk")
    }
    disk = created
    self.profile = profile
    simdisk_set_profile(disk, profile.code)
    simdisk_set_powersafe_overwrite(disk, isPowersafeOverwrite ? 1 : 0)
  }

  private init(owning disk: OpaquePointer, profile: Profile) {
    self.disk = disk
    self.profile = profile
  }

  deinit {
    simdisk_destroy(disk)
  }

  // MARK: SQLite

  /// The path by which SQLite opens a file of this disk.
  ///
  /// It holds a number that differs from disk to disk of a process, so keep it out of what runs
  /// are compared by.
  package func path(for name: String) -> String {
    "/disk/\(simdisk_number(disk))/\(name)"
  }

  /// Sets the time that SQLite sees on all disks, in milliseconds since 1970; it stands still.
  package static func setTime(milliseconds: Int64) {
    simdisk_set_time(milliseconds)
  }

  /// Makes SQLite's own generator repeat from here on: WAL salts, journal nonces, `random()`.
  ///
  /// SQLite has one for the whole process. Call this before each step of a node with a number
  /// derived from the node and the step, so that one node's draws do not shift another's.
  package static func seedSQLite(_ seed: UInt64) {
    simdisk_seed_sqlite(seed)
  }

  // MARK: Faults

  /// Room for all files together; nil is without limit.
  package func setQuota(bytes: Int64?) {
    simdisk_set_quota(disk, bytes ?? -1)
  }

  /// Arms a fault; it replaces what was armed of its kind.
  package func arm(_ fault: DiskFault) {
    simdisk_arm(disk, fault.kind.code, fault.place.first, fault.place.count)
  }

  /// Lets a kind of fault happen by chance, in so many of a million operations it applies to.
  package func setRate(of kind: DiskFault.Kind, perMillion: UInt32) {
    simdisk_set_rate(disk, kind.code, perMillion)
  }

  /// Takes back everything armed and all rates; quota and a lost power stay.
  package func disarm() {
    simdisk_disarm(disk)
  }

  /// How many operations there were: writes, truncations, syncs and changes of names.
  package var operations: UInt64 { simdisk_operations(disk) }

  /// How many reads there were.
  package var reads: UInt64 { simdisk_reads(disk) }

  /// Loses power now; everything fails until `reboot()`.
  package func cutPower() {
    simdisk_cut_power(disk)
  }

  /// Ends the process now; everything fails until `reboot()`.
  package func killProcess() {
    simdisk_kill_process(disk)
  }

  /// Whether power or process are gone.
  package var isDown: Bool { simdisk_is_down(disk) != 0 }

  /// Starts again; handles opened before fail for good.
  ///
  /// After a power cut the surviving files are drawn from the seed and the number of the reboot;
  /// after the end of a process they are as it left them. A disk that is not down loses power
  /// first.
  package func reboot() {
    simdisk_reboot(disk)
  }

  /// Flips one bit of a file in both views, as a decaying medium does.
  ///
  /// - Throws: `DiskError.notFound`, or `.range` beyond the end.
  package func flipBit(_ bit: UInt64, of name: String) throws {
    try DiskError.check(simdisk_flip_bit(disk, name, bit), name)
  }

  /// What happened so far.
  package func counts() -> [DiskProbe: UInt64] {
    var counters = simdisk_counters()
    simdisk_read_counters(disk, &counters)
    var result: [DiskProbe: UInt64] = [:]
    for probe in DiskProbe.allCases { result[probe] = probe.count(in: counters) }
    return result
  }

  /// How often one thing happened so far.
  package func count(_ probe: DiskProbe) -> UInt64 {
    var counters = simdisk_counters()
    simdisk_read_counters(disk, &counters)
    return probe.count(in: counters)
  }

  // MARK: Images

  /// A copy of the files; costs a pointer for each 4 KiB until one side changes.
  package func image(of view: View = .current) -> DiskImage {
    guard let image = simdisk_image_save(disk, view.code) else {
      preconditionFailure("no memory for an image of a simulated disk")
    }
    return DiskImage(owning: image)
  }

  /// Replaces all files by an image, durably; handles opened before fail for good.
  ///
  /// A disk that was down runs afterwards. The image stays usable.
  package func restore(_ image: DiskImage) {
    let status = simdisk_image_restore(disk, image.image)
    precondition(status == SQLITE_OK, "an image cannot be restored: \(status)")
  }

  /// A new disk with the current files, all durable, and with its own dice.
  ///
  /// Profile and quota are the same; armed faults, rates and counts are not copied.
  package func clone(seed: UInt64) -> SimDisk {
    guard let copy = simdisk_clone(disk, seed) else {
      preconditionFailure("no memory for a clone of a simulated disk")
    }
    return SimDisk(owning: copy, profile: profile)
  }

  /// A digest over names, sizes and bytes, to compare runs by; not collision-proof.
  package func hash(of view: View = .current) -> UInt64 {
    simdisk_hash(disk, view.code)
  }

  // MARK: Small files

  /// The names of the current files in bytewise order.
  package var names: [String] {
    var buffer = [CChar](repeating: 0, count: Int(SIMDISK_MAXIMUM_NAME_BYTES) + 1)
    var result: [String] = []
    while true {
      let length = buffer.withUnsafeMutableBufferPointer {
        simdisk_next_name(disk, $0.baseAddress, $0.baseAddress)
      }
      if length == 0 { return result }
      result.append(String(decoding: buffer[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self))
    }
  }

  /// The bytes in a file as a running machine sees it; nil if there is none.
  package func size(of name: String) -> Int64? {
    let size = simdisk_file_size(disk, name)
    return size < 0 ? nil : size
  }

  /// Replaces a file; each step is an operation that faults apply to.
  ///
  /// - Throws: `DiskError`; what was reached then depends on the steps.
  package func write(
    _ bytes: [UInt8], to name: String, steps: WriteSteps = .durably
  ) throws {
    try DiskError.check(
      simdisk_file_write(disk, name, bytes, bytes.count, steps.rawValue), name)
  }

  /// Reads a whole file; nil if there is none.
  ///
  /// - Throws: `DiskError.io` while the machine is down, or at a fault.
  package func read(_ name: String) throws -> [UInt8]? {
    let size = max(0, simdisk_file_size(disk, name))
    var got = 0
    var status: Int32 = SQLITE_OK
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
      status = simdisk_file_read(disk, name, 0, buffer.baseAddress, Int(size), &got)
      count = got
    }
    if status == SQLITE_CANTOPEN { return nil }
    try DiskError.check(status, name)
    return bytes
  }

  /// A file's bytes for who watches the disk: no operation of the device, so no fault strikes it
  /// and none is used up; nil if there is none.
  package func peek(_ name: String) -> [UInt8]? {
    let size = simdisk_file_size(disk, name)
    guard size >= 0 else { return nil }
    var got = 0
    return [UInt8](unsafeUninitializedCapacity: Int(size)) { buffer, count in
      simdisk_file_peek(disk, name, buffer.baseAddress, Int(size), &got)
      count = got
    }
  }

  /// Deletes a file.
  ///
  /// - Throws: `DiskError`, with code `notFound` if there is none.
  package func remove(_ name: String, syncingDirectory: Bool = true) throws {
    try DiskError.check(simdisk_file_delete(disk, name, syncingDirectory ? 1 : 0), name)
  }

  /// Renames a file, replacing what had the new name.
  ///
  /// - Throws: `DiskError`, with code `notFound` if there is none.
  package func rename(
    _ name: String, to newName: String, syncingDirectory: Bool = true
  ) throws {
    try DiskError.check(
      simdisk_file_rename(disk, name, newName, syncingDirectory ? 1 : 0), name)
  }
}

/// The files of a disk at one moment, for backups, rollbacks and copies.
package final class DiskImage {
  let image: OpaquePointer

  init(owning image: OpaquePointer) {
    self.image = image
  }

  deinit {
    simdisk_image_free(image)
  }
}
