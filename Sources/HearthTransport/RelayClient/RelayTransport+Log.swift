import HearthCRDT
import HearthRelayProtocol
import HearthSync

// Following a mailbox's log to its current end.
extension RelayTransport {
  /// Takes the log entries that this connection has announced, which saves a listing.
  ///
  /// - Returns: false if the announcements are incomplete or contradict each other. The caller must
  ///   then list.
  func takeNews(_ known: inout Known) async throws -> Bool {
    guard known.problem == nil else { return false }
    let question = RelayQuestion.news(
      after: known.index.position, chain: known.index.chain, limit: RelayLimits.maximumListItems)
    var next = known.index
    switch try await ask(next.mailbox, question) {
    case .told(let entries):
      guard entries.allSatisfy({ next.append($0) }), next.count <= RelayMailboxIndex.maximumNames
      else { return false }
    case .reply(.listing(let page)):
      guard next.take(page), next.count <= RelayMailboxIndex.maximumNames else { return false }
      known.index = next
      return page.through == page.head
    case .opened, .reply: throw inconsistent("its answer does not match the request")
    }
    known.index = next
    return true
  }

  /// Lists the log to its end.
  ///
  /// - Returns: false if the log does not continue the known part.
  func follow(_ index: inout RelayMailboxIndex) async throws -> Bool {
    while true {
      let before = index.position
      let question = RelayQuestion.list(
        after: index.position, limit: RelayLimits.maximumListItems)
      guard case .listing(let page) = try await reply(index.mailbox, question) else { return false }
      guard index.take(page), index.count <= RelayMailboxIndex.maximumNames else { return false }
      if page.through == page.head { return true }
      guard index.position > before else { return false }
    }
  }
}
