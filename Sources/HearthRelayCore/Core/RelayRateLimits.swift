/// What each address has used up of its allowances.
struct RelayRateLimits {
  private let configuration: RelayConfiguration
  private var attempts: [[UInt8]: RelayBucket] = [:]
  private var catalogueWork: [[UInt8]: RelayBucket] = [:]

  init(_ configuration: RelayConfiguration) {
    self.configuration = configuration
  }

  /// How many milliseconds an address has to wait before it may try a mailbox.
  func attemptWait(_ address: [UInt8], now: UInt64) -> Int {
    guard var bucket = attempts[address] else { return 0 }
    return bucket.take(1, now: now)
  }

  /// Counts a refusal or a new mailbox.
  mutating func countAttempt(_ address: [UInt8], now: UInt64) {
    guard attempts[address] != nil || attempts.count < configuration.maximumAddresses
    else { return }
    var bucket =
      attempts[address] ?? RelayBucket(perMinute: configuration.refusalsPerMinute, now: now)
    _ = bucket.take(1, now: now)
    attempts[address] = bucket
  }

  /// Counts work on catalogues.
  ///
  /// Returns 0, or the milliseconds to wait.
  mutating func catalogueWait(_ own: [UInt8], _ work: Int, now: UInt64) -> Int {
    // Addresses beyond the remembered ones share one allowance.
    let isKept = catalogueWork[own] != nil || catalogueWork.count < configuration.maximumAddresses
    let address = isKept ? own : []
    var bucket =
      catalogueWork[address]
      ?? RelayBucket(perMinute: configuration.catalogueWorkPerMinute, now: now)
    let wait = bucket.take(work, now: now)
    catalogueWork[address] = bucket
    return wait
  }

  /// Forgets the addresses whose allowances are full again.
  mutating func prune(now: UInt64) {
    RelayRateLimits.prune(&attempts, now: now)
    RelayRateLimits.prune(&catalogueWork, now: now)
  }

  private static func prune(_ buckets: inout [[UInt8]: RelayBucket], now: UInt64) {
    for (address, bucket) in buckets {
      var bucket = bucket
      if bucket.isFull(now: now) { buckets[address] = nil }
    }
  }
}
