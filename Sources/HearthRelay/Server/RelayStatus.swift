import HearthRelayCore

/// The time as the core takes it.
package struct RelayTime: Sendable {
  /// Milliseconds of a monotonic clock.
  package var milliseconds: UInt64
  /// Days since 1970.
  package var day: UInt32

  package init(milliseconds: UInt64, day: UInt32) {
    self.milliseconds = milliseconds
    self.day = day
  }
}

/// The relay's status for its operator: numbers, no names.
package struct RelayStatus: Sendable {
  /// The core's counters.
  package var counters: RelayCounters
  /// Transactions of the log so far.
  package var commits: Int
  /// Current connections.
  package var sessions: Int
  /// Current connections that have opened no mailbox.
  package var strangers: Int
  /// Mailboxes that are open in some session.
  package var mailboxesOpen: Int
  /// Queued writes to the log.
  package var writesWaiting: Int
  /// Queued reads of the log.
  package var readsWaiting: Int
  /// Why nothing can be stored, in a few words; nil while all is well.
  package var trouble: String?

  /// Describes why nothing can be stored.
  ///
  /// - Parameters:
  ///   - failure: why the last transaction failed; nil if it did not.
  ///   - logIsHealthy: whether the log works, as far as it knows itself.
  static func trouble(_ failure: RelayError.Code?, logIsHealthy: Bool) -> String? {
    switch failure {
    case .diskFull?: "the disk is full"
    case .unavailable?, .unknownOutcome?, .notDurable?: "the database cannot be reached"
    case .locked?: "another process holds the log"
    case .some: "the log failed: restart the relay when the disk works"
    case nil: logIsHealthy ? nil : "the log cannot be reached"
    }
  }

  /// The text for Prometheus (exposition format 0.0.4).
  package var metrics: String {
    let gauges: [(String, String, Int)] = [
      ("sessions", "Connections now.", sessions),
      ("strangers", "Connections that have opened no mailbox.", strangers),
      ("mailboxes_open", "Mailboxes open in some session.", mailboxesOpen),
      ("writes_waiting", "Writes that wait for the log.", writesWaiting),
      ("reads_waiting", "Reads that wait for the log.", readsWaiting),
      ("log_healthy", "Whether the log works.", trouble == nil ? 1 : 0),
    ]
    let totals: [(String, String, Int)] = [
      ("sessions", "Connections so far.", counters.sessionsEver),
      ("frames", "Frames received.", counters.framesReceived),
      ("entries", "Entries appended.", counters.entriesAppended),
      ("appended_bytes", "Bytes of blobs appended.", counters.bytesAppended),
      ("commits", "Transactions of the log.", commits),
      ("pages", "Pages read.", counters.pagesRead),
      ("queries", "Queries to catalogues.", counters.queries),
      ("pushes", "Pushes to a session.", counters.pushes),
      ("hints", "Hints in place of a push.", counters.hints),
      ("mailboxes_made", "Mailboxes made.", counters.mailboxesMade),
      ("rotations", "Access keys changed.", counters.rotations),
      ("refusals", "Proofs and registrations refused.", counters.refusals),
      ("limited", "Requests beyond a limit.", counters.limited),
      ("malformed", "Connections that sent no frames.", counters.malformed),
      ("slow_readers", "Connections ended because they did not read.", counters.slowReaders),
      ("timeouts", "Connections ended because they were silent.", counters.timeouts),
      ("log_failures", "Requests that the log failed.", counters.logFailures),
    ]
    var text = ""
    for (name, help, value) in gauges {
      let name = "hearth_relay_\(name)"
      text += "# HELP \(name) \(help)\n# TYPE \(name) gauge\n\(name) \(value)\n"
    }
    for (name, help, value) in totals {
      let name = "hearth_relay_\(name)_total"
      text += "# HELP \(name) \(help)\n# TYPE \(name) counter\n\(name) \(value)\n"
    }
    return text
  }
}
