/// One pass over one directory: Hearth's names in it, and everything else.
struct FolderScan {
  /// Hearth's names, sorted, an exact name before its copies.
  private(set) var items: [FolderHarvest.Item] = []
  /// Hearth's names that an entry of the wrong kind occupies.
  private(set) var blocked: [(fields: FolderFields, name: FolderName)] = []
  /// Names with Hearth's suffix but without a whole stem.
  private(set) var spoiled: [FolderName] = []
  /// Hearth's unfinished files.
  private(set) var temporaries: [FolderName] = []
  /// How many names belong neither to Hearth nor to a sync program.
  private(set) var foreignCount = 0
  /// The first foreign name in sorted order.
  private(set) var foreignExample: FolderName?
  /// Whether there were more names than are kept.
  var isOverfull: Bool { harvest.isOverfull }
  /// Whether there were more entries than the bound allows to read.
  var isCut: Bool { entries > bounds.maximumEntries }

  private let pattern: FolderPattern
  private let wanted: Directory.Kind
  private let bounds: FolderBounds
  private var harvest: FolderHarvest
  private var entries = 0

  /// Prepares to read the names of one pattern whose entries should be of one kind.
  init(
    as pattern: FolderPattern, wanting wanted: Directory.Kind, bound: Int, bounds: FolderBounds
  ) {
    self.pattern = pattern
    self.wanted = wanted
    self.bounds = bounds
    self.harvest = FolderHarvest(bound: bound)
  }

  /// Reads the directory.
  ///
  /// Entries that were read before a fault stay.
  ///
  /// - Parameter keeping: whether a well-formed name is wanted.
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

  /// Sorts the names that were read.
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

  /// Keeps as many names as problems are reported individually.
  private func keep(_ name: UnsafeBufferPointer<UInt8>, in names: inout [FolderName]) {
    if names.count < bounds.maximumProblems { names.append(FolderName(name)) }
  }
}
