/// One step of a schedule.
public enum ScheduleStep: Hashable, Sendable {
  /// A person acts; the seed decides what the action leaves to chance.
  case act(String, String, seed: UInt64)
  /// A person syncs once.
  case sync(String)
  /// The family is parted.
  case partition([[String]])
  /// A partition ends.
  case heal
  /// A person's node ends without warning and opens again.
  case crash(String)
  /// A person's node ends within a sync and opens again.
  case crashInSync(String, afterCalls: Int)
  /// Time passes.
  case advance(milliseconds: UInt64)
  /// Every n-th delivery is lost until its person syncs again.
  case lose(everyNth: Int)
  /// Deliveries arrive up to a number of syncs late.
  case delay(upToSyncs: Int)
  /// Every n-th file that somebody removed comes back to the others.
  case repeatRemoved(everyNth: Int)
}

extension ScheduleStep: CustomStringConvertible {
  /// The step as it is written in Swift.
  public var description: String {
    switch self {
    case .act(let name, let action, let seed):
      ".act(\(name.debugDescription), \(action.debugDescription), seed: \(seed))"
    case .sync(let name): ".sync(\(name.debugDescription))"
    case .partition(let parts): ".partition(\(parts))"
    case .heal: ".heal"
    case .crash(let name): ".crash(\(name.debugDescription))"
    case .crashInSync(let name, let count):
      ".crashInSync(\(name.debugDescription), afterCalls: \(count))"
    case .advance(let span): ".advance(milliseconds: \(span))"
    case .lose(let count): ".lose(everyNth: \(count))"
    case .delay(let count): ".delay(upToSyncs: \(count))"
    case .repeatRemoved(let count): ".repeatRemoved(everyNth: \(count))"
    }
  }
}
