import HearthCRDT
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport
import Testing

@testable import Hearth

// What tests reach of a node's core, to do what no member may or to see what nobody is shown.
extension Node {
  /// The engine, folded.
  var engine: Engine<ReplicaStore> {
    get {
      fold()
      return core.engine
    }
    _modify {
      fold()
      yield &core.replicas.engine
    }
  }

  private func fold() {
    do { try core.replicas.fold() } catch { Issue.record(error) }
  }

  func group(of zone: ZoneID) throws -> GroupID { try engine.zone(zone).group }

  var isFolded: Bool { core.replicas.engine.isFolded }

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
      }
      let derivation = try store.drafts.derivation(of: zone)
      try derivation.compute()
      try store.transaction {
        while case let rows = try derivation.next(atMost: 2), !rows.isEmpty {
          try store.drafts.insert(rows, in: zone)
        }
        try store.drafts.exchange(of: zone)
      }
      try derivation.close()
      return try store.staleProjections(of: zone)
    }
  }

  func transport(_ place: String) throws -> any Transport { try core.connections.transport(place) }

  func relay(_ address: String) throws -> RelayTransport { try core.connections.relay(address) }
}
