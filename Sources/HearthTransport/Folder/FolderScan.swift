/// One pass over one directory: what of it is ours, and what else is there.
struct FolderScan {
  /// Names of ours, sorted, an exact name before its copies.
  private(set) var items: [FolderHarvest.Item] = []
  /// Names of ours under which something of the wrong kind stands.
  private(set) var blocked: [(fields: FolderFields, name: FolderName)] = []
  /// Names with our suffix but without a whole stem.
  private(set) var spoiled: [FolderName] = []
  /// Unfinished files of ours.
  private(set) var temporaries: [FolderName] = []
  /// How many names are neither ours nor a carrier's.
  private(set) var foreignCount = 0
  /// The first of them in sorted order.
  private(set) var foreignExample: FolderName?
  /// Whether there were more names than are kept.
  var isOverfull: Bool { harvest.isOverfull }
  /// Whether there were more entries than are looked at.
  var isCut: Bool { entries > bounds.maximumEntries }

  private let pattern: FolderPattern
  private let wanted: Directory.Kind
  private let bounds: FolderBounds
  private var harvest: FolderHarvest
  private var entries = 0

  /// Prepares to read names of one pattern under which things of one kind should stand.
  init(
    as pattern: FolderPattern, wanting wanted: Directory.Kind, bound: Int, bounds: FolderBounds
  ) {
    self.pattern = pattern
    self.wanted = wanted
    self.bounds = bounds
    self.harvest = FolderHarvest(bound: bound)
  }

  /// Reads the directory; what was read before a fault stays.
  ///
  /// - Parameter keeping: whether a name that reads well is wanted.
  mutating func read(
    _ directory: borrowing Directory, keeping: (FolderFields) -> Bool
  ) throws(SystemFault) {
    try directory.forEachEntry { name, kind throws(SystemFault) in
      entries += 1
      guard entries <= bounds.maximumEntries else { return .stop }
      switch FolderEntry.classify(name, as: pattern) {
      case .exact(let fields) where keeping(fields):
        let actual = kind == .unknown ? try directory.kind(FolderName(name)) : kind
        take(fields, name, isExact: true, isWanted: actual == wanted)
      case .copy(let fields) where keeping(fields):
        let actual = kind == .unknown ? try directory.kind(FolderName(name)) : kind
        take(fields, name, isExact: false, isWanted: actual == wanted)
      case .temporary: keep(name, in: &temporaries)
      case .spoiled: keep(name, in: &spoiled)
      case .leftover: break
      case .exact, .copy, .foreign:
        foreignCount += 1
        let found = FolderName(name)
        foreignExample = foreignExample.map { min($0, found) } ?? found
      }
      return .next
    }
  }

  /// Sorts what was read.
  mutating func finish() { items = harvest.sorted() }

  private mutating func take(
    _ fields: FolderFields, _ name: UnsafeBufferPointer<UInt8>, isExact: Bool, isWanted: Bool
  ) {
    if isWanted {
      harvest.insert(fields, isExact ? nil : FolderName(name))
    } else if blocked.count < bounds.maximumProblems {
      blocked.append((fields, FolderName(name)))
    }
  }

  /// Keeps as many names as are told at most.
  private func keep(_ name: UnsafeBufferPointer<UInt8>, in names: inout [FolderName]) {
    if names.count < bounds.maximumProblems { names.append(FolderName(name)) }
  }
}
