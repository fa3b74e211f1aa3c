/// What clocks may decide: whether a joining that nobody confirmed is in time, and nothing else.
extension Truth {
  /// Nobody who may confirm did so, and the joining itself or a closing that had not seen it says
  /// that the link had expired.
  ///
  /// Whoever closes a link that is over by the own clock does so before reading anything: so it has
  /// not seen a joining that it first sees after the expiry.
  func isOverdue(
    _ time: Int, _ entry: (device: Int, link: Int, person: Int), _ sponsored: [Bool]
  ) -> Bool {
    guard ledger.closed[time], entry.link >= 0, !sponsored[entry.device],
      case .join = ledger.moves[time]
    else { return false }
    let expires = ledger.links[entry.link].expires
    if ledger.acts[time].time > expires { return true }
    return (0..<ledger.count).contains {
      isExpiryClosing($0, of: entry.link) && isCertain[$0] && !ledger.sees($0, time)
    }
  }

  private func isExpiryClosing(_ time: Int, of link: Int) -> Bool {
    guard case .close(let closed) = ledger.moves[time], closed == link else { return false }
    return ledger.acts[time].time > ledger.links[link].expires
  }

  /// Whether somebody came late.
  func isLate(_ whom: ((device: Int, link: Int, person: Int)) -> Bool) -> Bool {
    (0..<ledger.count).contains {
      guard late[$0], let entry = entry($0) else { return false }
      return whom(entry)
    }
  }

  /// The promise that a confirmed joining stays.
  ///
  /// It has a name of its own where some clock says that the link had expired.
  func staying(_ time: Int) -> Promise {
    guard let entry = entry(time), entry.link >= 0 else { return .entryIsFinal }
    if ledger.acts[time].time > ledger.links[entry.link].expires { return .clocksUndoNothing }
    let isClosed = (0..<ledger.count).contains {
      isExpiryClosing($0, of: entry.link) && !ledger.sees($0, time)
    }
    return isClosed ? .clocksUndoNothing : .entryIsFinal
  }

  /// The same acts at other times, where only joinings stay in time or late.
  func clocksProbe() -> Probe? {
    guard ledger.acts.contains(where: { $0.time != 0 }) else { return nil }
    let acts = ledger.acts.enumerated().map { time, act -> Act in
      let other = (act.id * 7 + act.device * 3) % 60
      switch ledger.moves[time] {
      case .admit: return act
      case .join(let link, _):
        guard link >= 0 else { return act }
        let expires = ledger.links[link].expires
        return act.changing(time: act.time > expires ? act.time + 3 : min(expires, other))
      default: return act.changing(time: other)
      }
    }
    return Probe(
      promise: .clocksUndoNothing, what: "with other clocks", acts: acts, keepsKeys: false)
  }
}
