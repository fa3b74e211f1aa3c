/// How many bytes of segments a turn applies, by what the last turns took.
///
/// A turn has a part that depends on its bytes, and a part that it takes however few they are, such
/// as writing a large record. Turns become smaller as long as that makes them shorter; if they
/// cannot be short, they become large enough that they are few.
struct TurnSize {
  /// A turn that took some bytes.
  private struct Turn {
    let byteCount: Int
    let seconds: Double
  }

  /// The bytes of the next turn.
  private(set) var byteCount: Int
  private var last: Turn?
  /// The seconds of a turn that do not depend on its bytes, as far as that is known.
  private var fixed = 0.0

  /// A turn that applies segments takes about as long as this; then whoever waits has its turn.
  private static let turnSeconds = 0.015
  private static let leastBytes = 32 * 1024
  private static let mostBytes = 8 * 1024 * 1024
  /// What turns that cannot be short have at most.
  private static let mostBytesOfLongTurns = 256 * 1024

  /// - Parameter byteCount: The bytes of the first turn.
  init(_ byteCount: Int) { self.byteCount = byteCount }

  /// Notes what a turn took.
  mutating func note(_ taken: Int, seconds: Double) {
    // What a part of a turn took says little of a whole one.
    guard taken > 0, taken >= byteCount || seconds > TurnSize.turnSeconds else { return }
    let turn = Turn(byteCount: taken, seconds: seconds)
    let most = 2 * taken
    let perByte = learn(from: turn)
    let fitting: Double
    if fixed > TurnSize.turnSeconds / 2 {
      fitting = min(fixed / max(perByte, 1e-12), Double(TurnSize.mostBytesOfLongTurns))
    } else {
      fitting = (TurnSize.turnSeconds - fixed) / max(perByte, 1e-12)
    }
    // At most twice as much at once: the next turn may be of another kind.
    byteCount = min(max(Int(min(fitting, Double(most))), TurnSize.leastBytes), TurnSize.mostBytes)
  }

  /// Learns from two turns of different sizes which part of their time depends on their bytes.
  ///
  /// - Returns: The seconds of each byte.
  private mutating func learn(from turn: Turn) -> Double {
    fixed = min(fixed, turn.seconds)
    if let last, abs(turn.byteCount - last.byteCount) * 4 >= last.byteCount {
      let perByte = (turn.seconds - last.seconds) / Double(turn.byteCount - last.byteCount)
      fixed = min(max(0, turn.seconds - perByte * Double(turn.byteCount)), turn.seconds)
    }
    last = turn
    return (turn.seconds - fixed) / Double(turn.byteCount)
  }
}
