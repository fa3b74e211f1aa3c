import HearthCRDT
import HearthMembership

/// What resolving 10,000 control operations costs, those of attackers included, in time of the
/// processor: on a shared machine wall time says more about the neighbours.
struct ResolverBudgets {
  let operations: Int
  let table: BudgetTable

  /// - Parameter shape: a part of the names of the logs to resolve; nil for all logs.
  func run(shape: String? = nil) {
    func isAskedFor(_ name: String) -> Bool { shape.map { name.contains($0) } ?? true }
    for (name, write) in ResolverShapes(operations: operations).all where isAskedFor(name) {
      let (log, membership) = resolve(name, write)
      let last = log.heartbeats(1)
      row("one more: \(name)", limit: 0.005) { _ = membership.adding(last) }
      let many = log.heartbeats(100)
      row("100 more at once: \(name)", limit: 0.1) { _ = membership.adding(many) }
      late(log, membership, name)
    }
    for (name, write) in ForkShapes(operations: operations).all where isAskedFor(name) {
      _ = resolve(name, write)
    }
  }

  private func resolve(
    _ name: String, _ write: (inout ResolverLog) -> Void
  ) -> (ResolverLog, Membership) {
    var log = ResolverLog()
    write(&log)
    let count = log.items.count + log.histories.values.reduce(0) { $0 + $1.changes.count }
    let membership = row("resolve \(count): \(name)", limit: 0.1) { log.fold() }
    return (log, membership)
  }

  /// An operation that has not seen half of the log costs a whole fold.
  ///
  /// The costliest of several kinds counts.
  private func late(_ log: ResolverLog, _ membership: Membership, _ name: String) {
    let times = log.late().map { item in
      Stopwatch.least(of: 2) { membership.adding([item]) }.processor
    }
    show("one more that had seen half: \(name)", times.max() ?? 0, limit: 0.1)
  }

  @discardableResult
  private func row<Result>(_ what: String, limit: Double, _ body: () -> Result) -> Result {
    let (result, processor) = Stopwatch.least(of: 3, body)
    show(what, processor, limit: limit)
    return result
  }

  private func show(_ what: String, _ processor: Double, limit: Double) {
    table.row(
      what, number(processor * 1e3, 1) + " ms", budget: number(limit * 1e3, 0) + " ms",
      isMet: processor < limit)
  }
}
