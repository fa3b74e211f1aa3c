import HearthCRDT
import HearthRelayProtocol
import HearthSync

/// Follows a mailbox's log to its current end, and judges whether it continues the known part.
struct RelayLogFollower {
  let client: RelayMailboxClient

  /// Updates the index of a mailbox to the relay's log.
  ///
  /// - Returns: the index, and what was wrong with the log.
  func update(
    _ access: MailboxAccess
  ) async throws -> (index: RelayMailboxIndex, problem: TransportProblem?) {
    let mailbox = access.mailbox
    let opening = try await client.open(access)
    var log = try client.log(of: mailbox)
    let before = log.index
    let news = opening.isNew ? opening : log.news?.number == opening.number ? log.news : nil
    log.news = nil
    try await bringUpToDate(&log, opening, news)
    // What could not be stored is stored by a later round, even if that round learns nothing.
    if log.index != before, !Mutant.storesLogOnce.isActive { log.isDirty = true }
    client.learn(log)
    if log.index != before || log.isDirty { try client.keep(mailbox) }
    return (log.index, client.takeProblem(of: mailbox))
  }

  /// Brings what is known of a log up to date.
  ///
  /// - Parameter news: the opening, if its statements about the log are still current.
  /// - Throws: `TransportError.relayInconsistent` if the log contradicts itself.
  private func bringUpToDate(
    _ log: inout RelayMailboxClient.Log, _ opening: RelayOpening, _ news: RelayOpening?
  ) async throws {
    let generation = opening.opened.head.generation
    let before = log.index
    if before.generation == nil {
      log.index.begin(generation: generation)
    } else if let news, news.cursor == before.cursor || news.isCreated {
      if !Mutant.trustsOldIndex.isActive, let fault = fault(of: news.opened, against: before) {
        log.problem = problem(fault)
      }
      if log.problem != nil || news.opened.head.generation != before.generation {
        log.index.begin(generation: news.opened.head.generation)
      }
    }
    var isCurrent = false
    if let news {
      // The opening states the log's end, so no listing is necessary if there is nothing new.
      isCurrent =
        news.opened.head.position == log.index.position
        && news.opened.chain == log.index.chain
      Probe.openingSparedListing.hit(if: isCurrent)
    }
    if !isCurrent, try await !takeNews(&log), try await !list(&log.index) {
      Probe.logContradicted.hit()
      log.problem = problem("the relay contradicts what it reported of its log")
      log.index.begin(generation: generation)
      guard try await list(&log.index) else {
        throw RelayWords(place: client.place).inconsistent("its log contradicts itself")
      }
    }
  }

  private func problem(_ fault: String) -> TransportProblem {
    TransportProblem(
      place: client.place, fault: fault,
      remedy: "nothing needs to be done: this device publishes its data there again",
      hidesData: false, isSetBack: true)
  }

  /// Returns how the log contradicts the known part, in words; nil if it continues that part.
  private func fault(of opened: RelayOpened, against index: RelayMailboxIndex) -> String? {
    guard let cursor = index.cursor else { return nil }
    guard opened.head.generation == cursor.generation else {
      Probe.logLost.hit(if: index.position > 0)
      return index.position > 0 ? "the relay lost its data, or restarted its log" : nil
    }
    switch opened.standing {
    case .known(let chain):
      Probe.logExchanged.hit(if: chain != index.chain)
      return chain == index.chain ? nil : "the relay's log is not the one that it showed before"
    case .beyondHead:
      Probe.logSetBack.hit()
      return "the relay's log was rolled back: it ends before what it had shown"
    case .otherGeneration: return "the relay restarted its log"
    case .none: return "the relay restarted its log"
    }
  }

  /// Takes the log entries that this connection has announced, which saves a listing.
  ///
  /// - Returns: false if the announcements are incomplete or contradict each other. The caller must
  ///   then list.
  private func takeNews(_ log: inout RelayMailboxClient.Log) async throws -> Bool {
    guard log.problem == nil else { return false }
    let question = RelayQuestion.news(
      after: log.index.position, chain: log.index.chain, limit: RelayLimits.maximumListItems)
    var next = log.index
    switch try await client.ask(next.mailbox, question) {
    case .announced(let entries):
      guard entries.allSatisfy({ next.append($0) }), next.count <= RelayMailboxIndex.maximumNames
      else { return false }
    case .reply(.listing(let page)):
      guard next.take(page), next.count <= RelayMailboxIndex.maximumNames else { return false }
      log.index = next
      return page.through == page.head
    case .opened, .reply: throw client.wrongAnswer()
    }
    log.index = next
    return true
  }

  /// The most pages of one listing: an honest relay fills them, and needs half as many.
  private static let maximumPages = 2_000

  /// Lists the log to the end that it has when the listing begins.
  ///
  /// Later entries belong to the next round: a relay whose log grows as fast as it is listed must
  /// not make this one endless.
  ///
  /// - Returns: false if the log does not continue the known part.
  /// - Throws: `TransportError.relayInconsistent` if the log is longer than any relay keeps.
  private func list(_ index: inout RelayMailboxIndex) async throws -> Bool {
    var end: UInt64?
    for _ in 0..<RelayLogFollower.maximumPages {
      let before = index.position
      let question = RelayQuestion.list(
        after: index.position, limit: RelayLimits.maximumListItems)
      guard case .listing(let page) = try await client.reply(index.mailbox, question)
      else { return false }
      guard index.take(page), index.count <= RelayMailboxIndex.maximumNames else { return false }
      let last = end ?? page.head
      guard last <= RelayMailboxIndex.maximumEntries else { break }
      if index.position >= last { return true }
      guard index.position > before else { return false }
      end = last
    }
    throw RelayWords(place: client.place).inconsistent(
      "its log of a mailbox takes more than \(RelayLogFollower.maximumPages) pages or "
        + "\(RelayMailboxIndex.maximumEntries) entries, which no relay keeps")
  }
}
