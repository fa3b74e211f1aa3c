/// What came of one round over one transport.
package struct TransportReport: Sendable {
  /// The transport's place.
  package let setting: String
  /// Why nothing could be exchanged at all, in words.
  package internal(set) var failure: String?
  /// How many changes were taken from it.
  package internal(set) var received = 0
  /// How many segments were given to it.
  package internal(set) var published = 0
  /// How many bytes were given to it.
  package internal(set) var publishedBytes = 0
  /// How many damaged files of it were put right.
  package internal(set) var restored = 0
  /// How many snapshots were given to it.
  package internal(set) var publishedSnapshots = 0
  /// How many zones were begun from a snapshot of it.
  package internal(set) var begunFromSnapshots = 0
  /// How many bytes of segments and snapshots were taken from it.
  package internal(set) var receivedBytes = 0
  /// How many segments wait for others.
  package internal(set) var waiting = 0
  /// What could not be used.
  package internal(set) var problems: [TransportProblem] = []

  package init(setting: String, failure: String? = nil) {
    self.setting = setting
    self.failure = failure
  }

  /// Adds a problem, unless one of the same place was noted before.
  package mutating func note(_ problem: TransportProblem) {
    guard !problems.contains(where: { $0.place == problem.place }) else { return }
    problems.append(problem)
  }

  /// Whether data may be missing.
  package var isPartial: Bool { problems.contains(where: \.hidesData) }
}

/// What came of one round over all transports.
package struct SyncReport: Sendable {
  /// One report a transport, in the order of the transports.
  package var transports: [TransportReport] = []

  package init() {}

  /// Notes that a transport failed; what it gave before still counts.
  package mutating func fail(_ setting: String, _ failure: String) {
    if let place = transports.firstIndex(where: { $0.setting == setting }) {
      transports[place].failure = failure
    } else {
      transports.append(TransportReport(setting: setting, failure: failure))
    }
  }

  /// How many changes were taken from all.
  package var received: Int { transports.reduce(0) { $0 + $1.received } }
  /// How many segments were given to all.
  package var published: Int { transports.reduce(0) { $0 + $1.published } }
}
