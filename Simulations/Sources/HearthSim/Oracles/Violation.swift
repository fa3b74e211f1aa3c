/// What must always hold; the numbers are those of the plan for simulations.
enum Oracle: String, CaseIterable, Codable, Sendable {
  case convergence = "O1"
  case durability = "O2"
  case causality = "O3"
  case monotonicReads = "O4"
  case points = "O5"
  case singleAward = "O6"
  case occurrences = "O7"
  case membership = "O8"
  case keys = "O9"
  case confidentiality = "O10"
  case snapshots = "O11"
  case garbage = "O12"
  case idempotence = "O13"
  case boundedStorage = "O14"
  case liveness = "O15"
  case backup = "O16"
  case clones = "O17"
  case mixedVersions = "O18"
  case hostileBytes = "O19"
  case integrity = "O20"
  case clocks = "O21"
  /// What somebody's bytes cost others follows how many they are.
  case cost = "CO"
  /// What a relay has told stays, gap-free, and who is shown another log is told.
  case relay = "RL"
  /// A scenario's own expectation.
  case expectation = "EX"
}

/// Something that must hold and does not.
struct Violation: Error, Codable, Sendable, CustomStringConvertible {
  let oracle: Oracle
  let time: UInt64
  let device: String?
  let text: String

  var description: String { "\(oracle.rawValue) \(device.map { "on \($0) " } ?? "")\(text)" }
}
