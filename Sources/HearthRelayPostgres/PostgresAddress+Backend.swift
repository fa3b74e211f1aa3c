import HearthCrypto
import HearthRelayCore

extension PostgresAddress: RelayBackend {
  package func open(relayID: Bytes32?) throws(RelayError) -> any RelayOperatorLog {
    try PostgresRelayLog(self, relayID: relayID)
  }
}
