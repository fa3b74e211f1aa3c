import HearthCRDT
import HearthRelayProtocol
import HearthSync

// How far a mailbox's log goes by now.
extension RelayTransport {
  /// Takes what this connection has told of the log since, which spares listing it.
  ///
  /// - Returns: false where that is not all, or contradicts itself: a listing tells then.
  func takeNews(_ known: inout Known) throws -> Bool {
    guard known.problem == nil else { return false }
    let question = RelayQuestion.news(
      after: known.index.position, chain: known.index.chain, limit: RelayLimits.maximumListItems)
    var next = known.index
    switch try ask(next.mailbox, question) {
    case .told(let entries):
      guard entries.allSatisfy({ next.append($0) }), next.count <= RelayMailboxIndex.maximumNames
      else { return false }
    case .reply(.listing(let page)):
      guard next.take(page), next.count <= RelayMailboxIndex.maximumNames else { return false }
      known.index = next
      return page.through == page.head
    case .opened, .reply: throw inconsistent("it answers something else than what was asked")
    }
    known.index = next
    return true
  }

  /// Lists to the end.
  ///
  /// - Returns: false where the log does not continue what is known.
  func follow(_ index: inout RelayMailboxIndex) throws -> Bool {
    while true {
      let before = index.position
      let question = RelayQuestion.list(
        after: index.position, limit: RelayLimits.maximumListItems)
      guard case .listing(let page) = try reply(index.mailbox, question) else { return false }
      guard index.take(page), index.count <= RelayMailboxIndex.maximumNames else { return false }
      if page.through == page.head { return true }
      guard index.position > before else { return false }
    }
  }
}
