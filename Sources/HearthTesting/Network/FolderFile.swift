import HearthSync

/// The name of a file in a shared folder.
enum FileName: Hashable, Sendable {
  case segment(SegmentName)
  case blob(BlobName)
}

/// One change of a shared folder: a file that somebody put or removed there.
struct FolderChange: Sendable {
  let name: FileName
  /// The file's content; nil if it was removed.
  let bytes: [UInt8]?
}

/// One person's copy of the shared folder.
struct FolderCopy: Sendable {
  private struct File {
    /// The number of the change that wrote or removed it.
    let number: Int
    let bytes: [UInt8]?
  }

  private var files: [FileName: File] = [:]
  /// The numbers of the changes that have arrived.
  private(set) var arrived: Set<Int> = []
  /// The first number that has not arrived.
  private(set) var firstMissing = 0
  /// When a change that is on its way arrives: the number of a round.
  var due: [Int: Int] = [:]
  /// How many rounds there were.
  var round = 0
  /// Whether a round is under way, in which nothing more arrives.
  var isInRound = false
  /// After how many more calls the node ends, if it is to end.
  var callsLeft: Int?

  /// Takes a change; the change with the greatest number decides about a file.
  mutating func take(_ number: Int, _ change: FolderChange) {
    pass(number)
    guard files[change.name].map({ $0.number < number }) ?? true else { return }
    files[change.name] = File(number: number, bytes: change.bytes)
  }

  /// Notes a change as arrived without its effect.
  mutating func pass(_ number: Int) {
    arrived.insert(number)
    due[number] = nil
    while arrived.contains(firstMissing) { firstMissing += 1 }
  }

  /// Whether there is a file.
  func has(_ name: FileName) -> Bool { bytes(of: name) != nil }

  /// The content of a file; nil if there is none.
  func bytes(of name: FileName) -> [UInt8]? { files[name]?.bytes }

  /// The names of all files, in no order.
  var names: [FileName] { files.filter { $0.value.bytes != nil }.map(\.key) }
}
