/// What happened in a run, in order: a chain of hashes for comparing runs, and lines for people.
struct Trace {
  /// One thing that happened.
  struct Line: Codable, Sendable {
    let time: UInt64
    /// The device concerned; nil for the world.
    let device: Int?
    let kind: String
    let text: String
    /// Where it came from, for a file that was carried.
    var from: Int?
    /// When it left there.
    var sent: UInt64?
  }

  private(set) var hash: UInt64 = 0xcbf2_9ce4_8422_2325
  private(set) var count = 0
  private(set) var checkpoints: [UInt64] = []
  private(set) var lines: [Line] = []
  /// Whether lines are kept, not only hashed.
  let keepsLines: Bool
  private static let maximumLines = 200_000

  init(keepsLines: Bool) {
    self.keepsLines = keepsLines
  }

  mutating func note(
    _ kind: StaticString, at time: UInt64, device: Int? = nil, from: Int? = nil,
    sent: UInt64? = nil, _ payload: UInt64 = 0, _ text: @autoclosure () -> String = ""
  ) {
    var value = Chance.mix(hash ^ time)
    value = Chance.mix(value ^ UInt64(bitPattern: Int64(device ?? -1)))
    value = Chance.mix(value ^ payload)
    kind.withUTF8Buffer { value = Chance.hash($0, from: value) }
    hash = value
    count += 1
    if count % 1_000 == 0 { checkpoints.append(hash) }
    if keepsLines, lines.count < Trace.maximumLines {
      lines.append(
        Line(
          time: time, device: device, kind: "\(kind)", text: text(), from: from, sent: sent))
    }
  }
}
