import HearthCRDT

/// A resolved control log and its outcome, shared by the copies of a membership.
final class ResolvedControl: Sendable {
  let resolver: ControlResolver
  let outcome: ControlOutcome

  var findings: Findings { resolver.findings }

  /// The operation that created the group; nil before it has arrived.
  var genesis: ControlOperation.Genesis? {
    guard let place = findings.index.geneses.first(where: { findings.isLive[$0] }),
      case .genesis(let genesis) = findings.log.operation(place)
    else { return nil }
    return genesis
  }

  init(_ resolver: ControlResolver, _ outcome: ControlOutcome? = nil) {
    self.resolver = resolver
    self.outcome = outcome ?? ControlOutcome(resolver.findings)
  }

  /// The resolved log after additions by ``ControlResolver/add(_:)``.
  ///
  /// Keys, heartbeats, attestations, digests and confirmations with effect change nobody's status
  /// there, so the outcome is then reused.
  func grown(to resolver: ControlResolver) -> ResolvedControl {
    let added = resolver.findings.log.items.indices.dropFirst(findings.log.items.count)
    let isQuiet = added.allSatisfy {
      guard resolver.findings.isLive[$0] else { return false }
      switch resolver.findings.log.operation($0) {
      case .heartbeat, .epoch, .wrapAdd, .complaint, .confirm, .snapshotAttest, .zoneDigest:
        return true
      default: return false
      }
    }
    return ResolvedControl(resolver, isQuiet ? outcome : nil)
  }
}

/// A part of what a membership answers, by the resolved log.
protocol ResolvedPart: Sendable {
  var resolved: ResolvedControl { get }
}

extension ResolvedPart {
  var findings: Findings { resolved.findings }
  var log: ControlLog { resolved.findings.log }
  var outcome: ControlOutcome { resolved.outcome }
}
