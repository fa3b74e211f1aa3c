import HearthCRDT
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

@testable import Hearth

// What tests reach of a node's core, to do what no member may or to see what nobody is shown.
extension Node {
  var engine: Engine<ReplicaStore> {
    get { core.engine }
    _modify { yield &core.replicas.engine }
  }

  var store: ReplicaStore { core.store }

  func now() -> UInt64 { core.now() }

  func transport(_ place: String) throws -> any Transport { try core.connections.transport(place) }

  func relay(_ address: String) throws -> RelayTransport { try core.connections.relay(address) }
}
