import HearthCRDT

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
  /// What was put right, in words or by its place; the first of them.
  package internal(set) var mended: [String] = []
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
  /// How many damaged files were found and not put right.
  package internal(set) var unmended = 0
  /// Why zones of this node were refused, in words, each reason once.
  package private(set) var refusals: [String] = []
  /// The groups of this node of which it refused a zone, so that not everything was read.
  package internal(set) var unread: Set<GroupID> = []
  /// Whether it refused this node in everything.
  package internal(set) var isRefusedWhole = false
  /// How many changes it does not hold any more that it held after an earlier round.
  package internal(set) var lost: UInt64 = 0
  private var notedPlaces: Set<String> = []
  private var notedCount = 0

  package init(setting: String, failure: String? = nil) {
    self.setting = setting
    self.failure = failure
  }

  /// Adds a problem, unless one of the same place was noted before; O(log n) and less.
  ///
  /// - Parameter isFirst: whether it is told before all others, of which there may be many.
  package mutating func note(_ problem: TransportProblem, isFirst: Bool = false) {
    while notedCount < problems.count {
      notedPlaces.insert(problems[notedCount].place)
      notedCount += 1
    }
    guard notedPlaces.insert(problem.place).inserted else { return }
    problems.insert(problem, at: isFirst ? 0 : problems.count)
    notedCount += 1
  }

  /// Notes that the transport does not take part in a zone; what holds for several is told once.
  mutating func refused(_ error: TransportError) {
    let problem = error.problem(hidesData: true)
    if !problems.contains(problem) { problems.insert(problem, at: 0) }
    if !refusals.contains("\(error)") { refusals.append("\(error)") }
  }

  /// Leaves out the problems that are gone, each of which is something that was put right, and all
  /// but the first of those that say the same.
  mutating func settle(_ gone: Set<TransportProblem>) {
    var seen: Set<TransportProblem> = []
    let before = problems
    problems = before.filter { seen.insert($0).inserted && !gone.contains($0) }
    for problem in seen.filter(gone.contains).sorted(by: { $0.place < $1.place }) {
      mended(problem.place)
    }
    (notedPlaces, notedCount) = ([], 0)
  }

  /// Counts changes that it does not hold any more.
  mutating func lose(_ count: UInt64) {
    let (sum, isTooLarge) = lost.addingReportingOverflow(count)
    lost = isTooLarge ? .max : sum
  }

  /// Adds what another round over the same transport has moved, or that it failed.
  package mutating func add(_ round: TransportReport) {
    failure = round.failure
    received += round.received
    published += round.published
    publishedBytes += round.publishedBytes
    receivedBytes += round.receivedBytes
    waiting = round.waiting
  }

  /// Adds what was given to the same transport before.
  package mutating func addGiven(_ before: TransportReport) {
    published += before.published
    publishedBytes += before.publishedBytes
    publishedSnapshots += before.publishedSnapshots
    restored += before.restored
    mended = Array((before.mended + mended).prefix(TransportReport.maximumMended))
  }

  /// Notes why nothing more could be exchanged.
  package mutating func fail(_ failure: String) { self.failure = failure }

  /// Adds what was read from the same transport before.
  package mutating func addTaken(_ before: TransportReport) {
    received += before.received
    receivedBytes += before.receivedBytes
    begunFromSnapshots += before.begunFromSnapshots
    for problem in before.problems { note(problem) }
  }

  /// How many things that were put right are named; the others are counted.
  package static var maximumMended: Int { 200 }

  /// Notes that something was put right.
  package mutating func mended(_ what: String) {
    restored += 1
    if mended.count < TransportReport.maximumMended { mended.append(what) }
  }

  /// Whether it is an older state of itself, as far as can be told.
  package var isSetBack: Bool { lost > 0 || problems.contains(where: \.isSetBack) }

  /// Whether it took everything that this node has to give.
  package var hasTakenAll: Bool { failure == nil && refusals.isEmpty && !isRefusedWhole }

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

  /// Whether an exchange with the transport of this place ended without failure.
  package func hasAnswered(_ setting: String) -> Bool {
    transports.contains { $0.setting == setting && $0.failure == nil }
  }

  /// Whether there is a transport, and every one took everything that this node has to give.
  package var hasReachedAll: Bool {
    !transports.isEmpty && transports.allSatisfy(\.hasTakenAll)
  }

  /// How many changes were taken from all.
  package var received: Int { transports.reduce(0) { $0 + $1.received } }
  /// How many segments were given to all.
  package var published: Int { transports.reduce(0) { $0 + $1.published } }
}
