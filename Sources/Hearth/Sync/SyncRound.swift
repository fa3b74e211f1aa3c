import HearthCRDT
import HearthSync

/// Which step with which transport follows which in one sync.
///
/// A value without a transport: it gets the result of each step, and says which to start.
struct SyncRound {
  /// A step to start.
  enum Start: Equatable, Sendable {
    /// Download new data, and upload nothing yet.
    case read(TransportSetting)
    /// Download new data, decide what it requires, and upload what the transport lacks.
    ///
    /// - Parameters:
    ///   - isComplete: whether every other transport was read without failure before.
    ///   - unread: the groups of which one of them refused a zone.
    case exchange(TransportSetting, isComplete: Bool, unread: Set<GroupID> = [])

    var setting: TransportSetting {
      switch self {
      case .read(let setting), .exchange(let setting, _, _): setting
      }
    }
  }

  private enum Stage {
    case reading, read, exchanging, done, failed
  }

  /// How one transport stands.
  private struct Place {
    let setting: TransportSetting
    var stage = Stage.reading
    /// What came of it so far; nil before it answered.
    var report: TransportReport?
    /// Whether something was brought since it was given to that it lacks.
    var isBehind = false
    /// Whether it was given to before all others were read.
    var wasEarly = false
    var exchangeCount = 0
  }

  /// How often one transport is given to in one sync: news that keep coming wait for the next.
  private static let maximumExchanges = 3

  private var places: [Place]
  /// Whether no transport that must be read before a decision has failed.
  private(set) var isComplete = true
  /// The groups of which a transport refused a zone.
  private(set) var unread: Set<GroupID> = []
  private var hasWaited = false

  init(_ settings: [TransportSetting]) {
    places = settings.map { Place(setting: $0) }
  }

  /// Whether nothing is left to do.
  var isDone: Bool { places.allSatisfy { [.done, .failed].contains($0.stage) } }

  /// What came of each transport, in their order.
  var reports: [TransportReport] { places.compactMap(\.report) }

  /// The first steps.
  mutating func begin() -> [Start] {
    guard places.count > 1 else { return exchangeAll() }
    return places.map { .read($0.setting) }
  }

  /// A transport was read.
  ///
  /// - Parameter holdsBack: whether decisions that a stale view could get wrong must wait for the
  ///   zones that this transport refused.
  mutating func read(
    _ setting: TransportSetting, _ report: TransportReport, holdsBack: Bool = true
  ) -> [Start] {
    if holdsBack { unread.formUnion(report.unread) }
    change(setting) { place in
      place.stage = .read
      place.report = report
    }
    if report.received > 0 { othersLack(setting) }
    return goOn()
  }

  /// A transport was given to.
  ///
  /// - Parameter holdsBack: as for one that was read.
  mutating func exchanged(
    _ setting: TransportSetting, _ report: TransportReport, holdsBack: Bool = true
  ) -> [Start] {
    if holdsBack { unread.formUnion(report.unread) }
    change(setting) { place in
      var whole = report
      if let before = place.report { whole.addTaken(before) }
      if place.exchangeCount > 1, let before = place.report { whole.addGiven(before) }
      place.report = whole
      place.stage = report.failure == nil ? .done : .failed
    }
    if report.received > 0 { othersLack(setting) }
    return goOn()
  }

  /// A transport failed.
  ///
  /// - Parameter holdsBack: whether decisions that a stale view could get wrong must wait for this
  ///   transport.
  mutating func failed(
    _ setting: TransportSetting, _ fault: String, holdsBack: Bool
  ) -> [Start] {
    if holdsBack { isComplete = false }
    change(setting) { place in
      place.stage = .failed
      var report = place.report ?? TransportReport(setting: setting.path)
      report.fail(fault)
      place.report = report
    }
    return goOn()
  }

  /// Those that were read wait no longer for the others.
  mutating func stopWaiting() -> [Start] {
    hasWaited = true
    return goOn()
  }

  // MARK: What follows

  private mutating func goOn() -> [Start] {
    let isReading = places.contains { $0.stage == .reading }
    guard isReading else { return exchangeAll() }
    guard hasWaited else { return [] }
    return start(where: { $0.stage == .read }, isComplete: false, isEarly: true)
  }

  /// Exchanges with all transports that were read, and again with those that lack later data.
  private mutating func exchangeAll() -> [Start] {
    let isComplete = isComplete
    return start(
      where: {
        switch $0.stage {
        case .reading, .read: true
        case .done:
          ($0.isBehind || $0.wasEarly && isComplete)
            && $0.exchangeCount < SyncRound.maximumExchanges
        case .exchanging, .failed: false
        }
      }, isComplete: isComplete)
  }

  private mutating func start(
    where isDue: (Place) -> Bool, isComplete: Bool, isEarly: Bool = false
  ) -> [Start] {
    var starts: [Start] = []
    for index in places.indices where isDue(places[index]) {
      places[index].stage = .exchanging
      places[index].isBehind = false
      places[index].wasEarly = isEarly
      places[index].exchangeCount += 1
      starts.append(
        .exchange(places[index].setting, isComplete: isComplete, unread: unread))
    }
    return starts
  }

  private mutating func change(_ setting: TransportSetting, _ body: (inout Place) -> Void) {
    guard let index = places.firstIndex(where: { $0.setting == setting }) else { return }
    body(&places[index])
  }

  /// What a transport brought is lacking at those that were given to before, or are just now.
  private mutating func othersLack(_ setting: TransportSetting) {
    for index in places.indices
    where places[index].setting != setting
      && [.exchanging, .done].contains(places[index].stage)
    {
      places[index].isBehind = true
    }
  }
}
