/// The changes that no transport has taken, in words.
enum UnsyncedText {
  /// - Parameters:
  ///   - changes: the number of record changes.
  ///   - membership: the number of membership operations, which a household's change count
  ///     excludes.
  ///   - isOver: whether the device is removed.
  static func words(_ changes: Int, membership: Int, isOver: Bool) -> String {
    let when = isOver ? "never synced" : "not synced yet"
    let about = Words.count(membership, "change") + " about people and devices"
    return switch (changes, membership) {
    case (0, 0): "nothing unsynced"
    case (_, 0): "\(Words.count(changes, "change")) \(when)"
    case (0, _): "\(about) \(when)"
    default: "\(Words.count(changes, "change")) \(when), and \(about)"
    }
  }
}
