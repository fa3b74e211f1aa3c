import HearthSync

/// When each transport was last synced with, so that a later look shows it.
struct TransportSuccesses: NodeWork {
  let core: NodeCore

  /// A later success is written after this time only: a sync without news must cost no write.
  private static let stepMilliseconds: UInt64 = 60_000

  private var records: TransportRecords<UInt64> {
    TransportRecords(
      core: core, fact: JSONFact.named("transports.succeeded", of: [String: UInt64].self))
  }

  /// Returns when a sync with a transport last succeeded; nil if none is known.
  ///
  /// After a restart of the program it may be up to a minute too early.
  func last(of setting: TransportSetting) throws -> UInt64? {
    if let exact = core.successes[setting.path] { return exact }
    return try records.all()[setting.path]
  }

  /// Notes the successes of a round, and forgets transports that are gone.
  func keep(of report: SyncReport) throws {
    let moment = now()
    let places = Set(try transports.list().map(\.path))
    for round in report.transports where round.failure == nil {
      core.successes[round.setting] = moment
    }
    let before = try records.all()
    var successes = before.filter { places.contains($0.key) }
    for (place, time) in core.successes where places.contains(place) {
      // A clock that was set back counts too.
      let isDue = successes[place].map {
        time >= $0 + TransportSuccesses.stepMilliseconds || time < $0
      }
      if isDue ?? true { successes[place] = time }
    }
    try records.replace(before, by: successes)
  }
}

extension NodeWork {
  /// The last successes of transports.
  var transportSuccesses: TransportSuccesses { TransportSuccesses(core: core) }
}
