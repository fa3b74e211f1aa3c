/// One incarnation of one device: the unit that numbers changes.
///
/// A device that was restored from a backup, or cloned, starts a new incarnation. A sequence number
/// is therefore never used twice for different content.
public struct Author: Hashable, Comparable, Sendable {
  /// The device.
  public let device: DeviceID
  /// The device's incarnation: a counter in the upper 32 bits, random bits in the lower 32.
  ///
  /// The random half distinguishes two copies of one image when both start their next incarnation.
  /// That of a device's first incarnation follows from the device's id, as in ``first(of:)``.
  public let incarnation: UInt64

  /// Names one incarnation of one device.
  @inlinable
  public init(device: DeviceID, incarnation: UInt64) {
    self.device = device
    self.incarnation = incarnation
  }

  /// The incarnation in which a device begins.
  ///
  /// Its random half is the end of the device's id, so a device has exactly one first incarnation,
  /// and everybody recognizes it without asking which one was heard of first.
  package static func first(of device: DeviceID) -> Author {
    Author(device: device, incarnation: 1 << 32 | device.low & 0xffff_ffff)
  }

  /// Whether this is the device's first incarnation.
  package var isFirst: Bool { self == Author.first(of: device) }

  /// The number of this incarnation, counted from 1.
  public var life: Int { Int(incarnation >> 32) }

  /// The order of device, then of incarnation.
  @inlinable
  public static func < (left: Author, right: Author) -> Bool {
    left.device != right.device
      ? left.device < right.device : left.incarnation < right.incarnation
  }
}

extension Author: CustomStringConvertible {
  /// The device's first digits and the number of its incarnation.
  public var description: String { "\(device.hex.prefix(8))/\(life)" }
}

/// The name of one change: its author and its number in that author's log, counted from 1.
public struct Dot: Hashable, Comparable, Sendable {
  /// The author of the change.
  public let author: Author
  /// The change's sequence number in the author's log of that zone, from 1, without gaps.
  public let sequence: UInt64

  /// Names one change.
  @inlinable
  public init(author: Author, sequence: UInt64) {
    self.author = author
    self.sequence = sequence
  }

  /// The order of author, then of sequence number.
  @inlinable
  public static func < (left: Dot, right: Dot) -> Bool {
    left.author != right.author ? left.author < right.author : left.sequence < right.sequence
  }
}

extension Dot: CustomStringConvertible {
  /// The author and the sequence number.
  public var description: String { "\(author)#\(sequence)" }
}

/// A dot together with the author's clock at that change.
///
/// Versions are ordered by (time, author, sequence). This order picks the displayed one among
/// concurrent values and the credited one among concurrent events. It never decides causal order.
public struct Version: Hashable, Comparable, Sendable {
  /// The change that wrote.
  public let dot: Dot
  /// The author's hybrid clock at that change.
  public let time: HybridTime

  /// Pairs a dot with its time.
  @inlinable
  public init(dot: Dot, time: HybridTime) {
    self.dot = dot
    self.time = time
  }

  /// The order of time, then of author and sequence number.
  @inlinable
  public static func < (left: Version, right: Version) -> Bool {
    left.time != right.time ? left.time < right.time : left.dot < right.dot
  }
}
