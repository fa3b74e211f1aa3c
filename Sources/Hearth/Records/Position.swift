/// A record's position in an ordered list that people rearrange.
///
/// A position is a string of bytes, and the records of a list are in the order of their bytes. So
/// moving a record writes one field of one record, and there is always a position between two
/// others. What two people insert at one place at the same time stays together for each of them:
/// the items of one follow those of the other.
///
/// Declare a field of this type, order by it, and move records with
/// ``ZoneTransaction/move(_:_:to:in:)``:
///
/// ```swift
/// struct Chore: Record {
///   var id = Key<Chore>()
///   var project: Key<Project>?
///   var position = Position()
///
///   static let schema = Schema<Chore>("chore", 2) {
///     Reference(1, \.project)
///     Field(2, \.position, .indexed)
///     Index(\.project, \.position)
///   }
/// }
/// let chores = Chore.where(\.project == garden).order(\.position)
/// ```
public struct Position: Hashable, Sendable {
  let bytes: [UInt8]

  init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The position of a record that was never moved: before all others.
  public init() {
    bytes = []
  }
}

extension Position: Comparable {
  /// The order of a list.
  public static func < (left: Position, right: Position) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

extension Position: FieldValue {
  /// The most bytes of a position; where it would need more, its neighbours get new positions.
  static let maximumBytes = 192

  /// Bytes.
  public static var storedKind: StoredValue.Kind { .bytes }
  /// The bytes.
  public var stored: StoredValue { .bytes(bytes) }
  /// Reads bytes.
  public init?(stored: StoredValue) {
    guard case .bytes(let bytes) = stored else { return nil }
    self.bytes = bytes
  }
}

/// A position as a path in a tree.
///
/// Each step has the mark of a writer and a number. An odd number is a place for a record. What
/// lies beneath a record follows it; what lies beneath the even number before its own precedes it.
/// A writer who adds one record after another, or one before another, counts on in one place. So
/// nobody's records come between them, and the path does not grow. Beside an own earlier record the
/// writer goes on with that record's numbers; records added there in the other direction may be
/// divided by somebody else's.
///
/// The idea is that of position strings, by Matthew Weidner (2022). Here a writer also counts
/// downwards, as people often add to the top of a list.
struct PositionPath: Equatable {
  struct Step: Equatable {
    let writer: [UInt8]
    var number: Int64
  }

  /// The number of bytes of a writer's mark.
  static let markBytes = 5

  var steps: [Step]

  /// The position's path; nil if this program does not write such a position.
  init?(_ position: Position) {
    var steps: [Step] = []
    var rest = position.bytes[...]
    while !rest.isEmpty {
      let writer = Array(rest.prefix(PositionPath.markBytes))
      rest = rest.dropFirst(PositionPath.markBytes)
      guard writer.count == PositionPath.markBytes, let number = OrderedNumber.read(&rest) else {
        return nil
      }
      steps.append(Step(writer: writer, number: number))
    }
    guard let last = steps.last else {
      self.steps = []
      return
    }
    guard last.number % 2 != 0 else { return nil }
    self.steps = steps
  }

  private init(_ steps: [Step]) {
    self.steps = steps
  }

  var position: Position {
    Position(bytes: steps.flatMap { $0.writer + OrderedNumber.bytes(of: $0.number) })
  }

  /// The path of the same writer's place after or before this one; nil if the last place is not
  /// the writer's, or if its numbers are used up.
  func next(_ distance: Int64, by writer: [UInt8]) -> PositionPath? {
    guard var last = steps.last, last.writer == writer else { return nil }
    let (number, isOver) = last.number.addingReportingOverflow(distance)
    guard !isOver else { return nil }
    last.number = number
    return PositionPath(steps.dropLast() + [last])
  }

  /// The path of a writer's first place after this one.
  func following(by writer: [UInt8]) -> PositionPath {
    PositionPath(steps + [Step(writer: writer, number: 1)])
  }

  /// The path of a writer's first place before this one; nil if its numbers are used up.
  func preceding(by writer: [UInt8]) -> PositionPath? {
    guard var last = steps.last, last.number > .min else { return nil }
    last.number -= 1
    return PositionPath(steps.dropLast() + [last, Step(writer: writer, number: 1)])
  }
}

extension Position {
  /// Returns a position between two others.
  ///
  /// - Parameters:
  ///   - left: the position before; nil at the beginning of the list.
  ///   - right: the position after; nil at the end of the list.
  ///   - writer: the mark of the device that writes it.
  /// - Returns: nil if there is none: the positions are equal or in another order, somebody else's
  ///   program made one of them, or it would need too many bytes.
  static func between(_ left: Position?, _ right: Position?, by writer: [UInt8]) -> Position? {
    guard let before = PositionPath(left ?? Position()) else { return nil }
    guard let right else {
      return fitting([before.next(2, by: writer), before.following(by: writer)], left, nil)
    }
    guard let after = PositionPath(right) else { return nil }
    // What begins with the left position is beneath it; then a place before the right one is.
    let isBeneath = right.bytes.starts(with: left?.bytes ?? [])
    return fitting(
      [
        before.next(2, by: writer), after.next(-2, by: writer),
        isBeneath ? after.preceding(by: writer) : before.following(by: writer),
      ], left, right)
  }

  /// The first of some paths that lies between two positions and is short enough.
  private static func fitting(
    _ paths: [PositionPath?], _ left: Position?, _ right: Position?
  ) -> Position? {
    paths.lazy.compactMap { $0?.position }.first { position in
      position.bytes.count <= maximumBytes && position > left ?? Position()
        && right.map { position < $0 } ?? true
    }
  }

  /// Returns several positions between two others, in order; nil if there is no room for so many.
  static func between(
    _ left: Position?, _ right: Position?, count: Int, by writer: [UInt8]
  ) -> [Position]? {
    var positions: [Position] = []
    for _ in 0..<count {
      guard let next = between(positions.last ?? left, right, by: writer) else { return nil }
      positions.append(next)
    }
    return positions
  }
}

/// Whole numbers as bytes whose order is that of the numbers.
///
/// The first byte is the number itself from -64 to 63. Beyond, it says how many bytes follow with
/// what is left of the number.
enum OrderedNumber {
  static func bytes(of number: Int64) -> [UInt8] {
    switch number {
    case -64...63: return [UInt8(0x80 + number)]
    case 64...:
      let tail = tail(UInt64(number - 64))
      return [0xc0 + UInt8(tail.count - 1)] + tail
    default:
      let tail = tail(UInt64(-65 - number))
      return [0x3f - UInt8(tail.count - 1)] + tail.map(~)
    }
  }

  /// Takes a number from the beginning of some bytes; nil if they begin with none.
  static func read(_ bytes: inout ArraySlice<UInt8>) -> Int64? {
    guard let first = bytes.popFirst() else { return nil }
    if (0x40...0xbf).contains(first) { return Int64(first) - 0x80 }
    let isRaised = first >= 0xc0
    let count = Int(isRaised ? first - 0xc0 : 0x3f - first) + 1
    guard count <= 8, bytes.count >= count else { return nil }
    let value = bytes.prefix(count).reduce(UInt64(0)) {
      $0 << 8 | UInt64(isRaised ? $1 : ~$1)
    }
    bytes = bytes.dropFirst(count)
    // One number has one form.
    guard count == 1 || value >> (8 * UInt64(count - 1)) != 0, value <= UInt64(Int64.max) - 64
    else { return nil }
    return isRaised ? Int64(value) + 64 : -65 - Int64(value)
  }

  /// A number in as few bytes as it needs, at least one.
  private static func tail(_ number: UInt64) -> [UInt8] {
    let count = max(1, (64 - number.leadingZeroBitCount + 7) / 8)
    return (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
  }
}
