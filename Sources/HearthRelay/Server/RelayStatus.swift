/// The time as the core takes it.
package struct RelayTime: Sendable {
  /// Milliseconds of a clock that never goes back.
  package var milliseconds: UInt64
  /// Days since 1970.
  package var day: UInt32

  package init(milliseconds: UInt64, day: UInt32) {
    self.milliseconds = milliseconds
    self.day = day
  }
}

/// What the relay tells of itself to its operator: numbers, no names.
package struct RelayStatus: Sendable {
  package var counters: RelayCounters
  package var commits: Int
  package var sessions: Int
  package var strangers: Int
  package var mailboxesOpen: Int
  package var writesWaiting: Int
  package var readsWaiting: Int
  /// Why nothing can be stored, in a few words; nil while all is well.
  package var trouble: String?

  /// The words for it.
  ///
  /// - Parameters:
  ///   - failure: Why the last transaction failed; nil where it did not.
  ///   - logIsHealthy: Whether the log works, as far as it knows itself.
  static func trouble(_ failure: RelayError.Code?, logIsHealthy: Bool) -> String? {
    switch failure {
    case .diskFull?: "the disk is full"
    case .unavailable?, .unknownOutcome?, .notDurable?: "the database cannot be reached"
    case .locked?: "another process holds the log"
    case .some: "the log failed: restart the relay when the disk works"
    case nil: logIsHealthy ? nil : "the log cannot be reached"
    }
  }

  /// The text that Prometheus reads (exposition format 0.0.4).
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
