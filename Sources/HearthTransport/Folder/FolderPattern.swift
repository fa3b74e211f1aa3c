/// The form of one kind of name: groups of hexadecimal digits joined by `-`, then a suffix.
struct FolderPattern: Sendable {
  /// The number of digits of each group: 8, 16 or 32.
  let groups: [Int]
  /// The text after the full stop that follows the last group; empty for a directory.
  let suffix: String
  /// The number of bytes from the first digit to the last.
  let stemCount: Int

  /// The prefix of an unfinished file's name; sixteen hexadecimal digits follow.
  static let temporaryPrefix = ".tmp-"

  private init(groups: [Int], suffix: String) {
    self.groups = groups
    self.suffix = suffix
    self.stemCount = groups.reduce(groups.count - 1, +)
  }

  /// A zone's directory: its tag.
  static let zone = FolderPattern(groups: [32], suffix: "")
  /// An author's directory: tag, incarnation.
  static let author = FolderPattern(groups: [32, 16], suffix: "")
  /// A segment's file: first, last, digest.
  static let segment = FolderPattern(groups: [16, 16, 32], suffix: "seg")
  /// A snapshot's chunk: group, index, count, digest.
  static let snapshot = FolderPattern(groups: [32, 8, 8, 32], suffix: "snap")
  /// A chunk of an attachment: digest.
  static let attachment = FolderPattern(groups: [32], suffix: "att")
  /// An invitation bundle: its rendezvous id.
  static let capsule = FolderPattern(groups: [32], suffix: "cap")

  /// Reads a name of exactly this form, lower case; nil for anything else.
  func exact(_ name: String) -> FolderFields? {
    var name = name
    return name.withUTF8 { exact($0) }
  }

  /// Reads a name of exactly this form, lower case; nil for anything else.
  func exact(_ name: UnsafeBufferPointer<UInt8>) -> FolderFields? {
    guard name.count == stemCount + (suffix.isEmpty ? 0 : suffix.utf8.count + 1) else {
      return nil
    }
    var isLowerCase = true
    guard let fields = stem(of: name, at: 0, isLowerCase: &isLowerCase), isLowerCase else {
      return nil
    }
    guard !suffix.isEmpty else { return fields }
    guard name[stemCount] == UInt8(ascii: "."),
      name[(stemCount + 1)...].elementsEqual(suffix.utf8)
    else { return nil }
    return fields
  }

  /// Reads the first stem inside a longer or differently cased name; nil if there is none.
  ///
  /// Sync programs put their marks before, behind or in the middle of a name: `Copy of STEM.seg`,
  /// `STEM (2).seg`, `STEM.sync-conflict-….seg`, `STEM-laptop.seg`. A stem counts if no letter or
  /// digit touches it. The cost is linear in the name, which the system bounds to 255 bytes.
  func embedded(_ name: UnsafeBufferPointer<UInt8>) -> FolderFields? {
    guard name.count >= stemCount else { return nil }
    var isLowerCase = true
    for start in 0...(name.count - stemCount) {
      if start > 0, isWordByte(name[start - 1]) { continue }
      let end = start + stemCount
      if end < name.count, isWordByte(name[end]) { continue }
      if let fields = stem(of: name, at: start, isLowerCase: &isLowerCase) { return fields }
    }
    return nil
  }

  private func stem(
    of name: UnsafeBufferPointer<UInt8>, at start: Int, isLowerCase: inout Bool
  ) -> FolderFields? {
    var fields = FolderFields()
    var position = start
    for (place, digits) in groups.enumerated() {
      if place > 0 {
        guard name[position] == UInt8(ascii: "-") else { return nil }
        position += 1
      }
      var word: UInt64 = 0
      for digit in 0..<digits {
        if digit == 16 {
          fields.append(word)
          word = 0
        }
        let byte = name[position + digit]
        switch byte {
        case 0x30...0x39: word = word << 4 | UInt64(byte - 0x30)
        case 0x61...0x66: word = word << 4 | UInt64(byte - 0x61 + 10)
        case 0x41...0x46:
          word = word << 4 | UInt64(byte - 0x41 + 10)
          isLowerCase = false
        default: return nil
        }
      }
      fields.append(word)
      position += digits
    }
    return fields
  }

  private func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: false
    }
  }
}

/// The classification of one name in a directory of the folder.
enum FolderEntry: Equatable {
  /// A name of exact form.
  case exact(FolderFields)
  /// A whole name in other case or inside a longer name from a sync program: a hint, to be
  /// verified.
  case copy(FolderFields)
  /// An unfinished file of Hearth's own.
  case temporary
  /// A known leftover of sync programs and desktops. It is skipped silently.
  case leftover
  /// A name with Hearth's suffix but without a whole stem: somebody renamed or cut it.
  case spoiled
  /// Anything else.
  case foreign

  /// Classifies a name.
  ///
  /// Linear in the name, without side effects.
  static func classify(
    _ name: UnsafeBufferPointer<UInt8>, as pattern: FolderPattern
  ) -> FolderEntry {
    if let fields = pattern.exact(name) { return .exact(fields) }
    if isTemporary(name) { return .temporary }
    if isLeftover(name) { return .leftover }
    if let fields = pattern.embedded(name) { return .copy(fields) }
    if !pattern.suffix.isEmpty, ends(name, with: "." + pattern.suffix) { return .spoiled }
    return .foreign
  }

  /// Classifies a name that is available as text.
  static func classify(_ name: String, as pattern: FolderPattern) -> FolderEntry {
    var name = name
    return name.withUTF8 { classify($0, as: pattern) }
  }

  /// Whether this is exactly the name of an unfinished file of Hearth's.
  static func isTemporary(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    let prefix = FolderPattern.temporaryPrefix.utf8
    guard name.count == prefix.count + 16, name.starts(with: prefix) else { return false }
    return name.dropFirst(prefix.count).allSatisfy {
      (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
    }
  }

  /// Whether a name belongs to a sync program or desktop: hidden, unfinished, or a known companion.
  static func isLeftover(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = name.first else { return true }
    if first == UInt8(ascii: ".") || first == UInt8(ascii: "~") { return true }
    if name.last == UInt8(ascii: "~") { return true }
    return unfinishedSuffixes.contains { ends(name, with: $0) }
      || companions.contains { equals(name, $0) }
  }

  /// The suffixes of files that other programs are still writing.
  private static let unfinishedSuffixes = [
    ".tmp", ".temp", ".part", ".partial", ".filepart", ".crdownload", ".download", ".!sync",
  ]
  /// Files that desktops and sync programs keep beside others.
  ///
  /// `Icon` ends in a carriage return.
  private static let companions = ["desktop.ini", "thumbs.db", "icon\r", "lost+found"]

  private static func ends(_ name: UnsafeBufferPointer<UInt8>, with suffix: String) -> Bool {
    guard name.count >= suffix.utf8.count else { return false }
    return equals(UnsafeBufferPointer(rebasing: name.suffix(suffix.utf8.count)), suffix)
  }

  /// Compares without regard to the case of ASCII letters.
  ///
  /// `text` is in lower case.
  static func equals(_ name: UnsafeBufferPointer<UInt8>, _ text: String) -> Bool {
    name.count == text.utf8.count
      && zip(name, text.utf8).allSatisfy { byte, expected in
        ((0x41...0x5A).contains(byte) ? byte | 0x20 : byte) == expected
      }
  }
}
