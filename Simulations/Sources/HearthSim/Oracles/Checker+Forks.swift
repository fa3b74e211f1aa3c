import HearthCRDT
import HearthStore
import HearthSync

extension Checker {
  /// What was reached of logs with one history.
  ///
  /// Who was put back unnoticed finds the other history of its own among its files.
  func unforked(
    _ frontier: Frontier, _ engine: Engine<ReplicaStore>, in world: World
  ) -> Frontier {
    let isPutBack = world.putBackUnnoticed.contains { world.devices[$0].deviceID == engine.device }
    // Whoever cited what a wrong snapshot said writes it again in a new incarnation.
    let mayHaveLeft = isPutBack || world.isMisquoted
    guard !forked.isEmpty || mayHaveLeft else { return frontier }
    let kept = frontier.entries.filter {
      !forked.contains($0.author)
        && !(mayHaveLeft && $0.author.device == engine.device && $0.author != engine.author)
    }
    return Frontier(kept.map { ($0.author, $0.sequence) })
  }

  /// What was reached of logs that no lie ends here: who could not tell at first takes back what it
  /// took from a liar once it can.
  func unrefuted(
    _ frontier: Frontier, of zone: ZoneID, _ engine: Engine<ReplicaStore>, in world: World
  ) throws -> Frontier {
    let culprits = Set(world.hostile.map(\.deviceID))
    guard !culprits.isEmpty else { return frontier }
    let refuted = Set(try FalseClaims(engine: engine).claims(in: zone).map(\.author))
    let kept = frontier.entries.filter {
      !culprits.contains($0.author.device) || !refuted.contains($0.author)
    }
    return Frontier(kept.map { ($0.author, $0.sequence) })
  }
}
