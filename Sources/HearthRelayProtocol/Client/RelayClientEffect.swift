/// An action for the shell of a client's session.
package enum RelayClientEffect: Sendable {
  /// Connect, then call `connected` or `lost`.
  case connect
  /// Close the connection and report no more of its events.
  case disconnect
  /// Send bytes.
  case send([UInt8])
  /// A question has its answer.
  case finish(ticket: UInt64, Result<RelayOutcome, RelayFailure>)
  /// The relay sent news.
  case news(RelayNews)
}

/// Why a client ends a connection because of what the relay sent.
struct RelayConnectionEnd: Error {
  let failure: RelayFailure

  /// The relay shuts the connection, or cannot serve this client.
  init(_ failure: RelayFailure) {
    self.failure = failure
  }

  /// The relay violates the protocol.
  init(violation words: String) {
    failure = .protocolBroken(words)
  }
}
