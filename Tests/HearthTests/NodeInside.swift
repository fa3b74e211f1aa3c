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

  /// Loads a zone's own records into its draft, a few at a time, and takes the draft.
  ///
  /// - Returns: the names of the tables of derived rows that a rebuild makes otherwise.
  func takeDraft(of zone: ZoneID) throws -> [String] {
    try core.replicas.working {
      var changes: [RecordChange] = []
      var events: [(RecordKey, EventState)] = []
      try store.records.forEach(in: zone) { key, record in
        switch record {
        case .record(let state):
          changes.append(RecordChange(key: key, state: state, isNew: true))
        case .event(let event): events.append((key, event))
        }
      }
      try store.transaction {
        try store.drafts.writing(to: zone) {
          try store.records.save(changes, in: zone)
          try store.records.insert(events, in: zone)
        }
        var place: DerivationPlace?
        repeat {
          place = try store.drafts.derive(of: zone, from: place, atMost: 2)
        } while place != nil
        try store.drafts.exchange(of: zone)
      }
      return try store.staleProjections(of: zone)
    }
  }

  func transport(_ place: String) throws -> any Transport { try core.connections.transport(place) }

  func relay(_ address: String) throws -> RelayTransport { try core.connections.relay(address) }
}
