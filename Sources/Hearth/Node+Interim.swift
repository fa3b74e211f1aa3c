import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

extension Node {
  var folder: NodeFolder { core.folder }
  var schema: NodeSchema { core.schema }
  var replicas: NodeReplicas { core.replicas }
  var store: ReplicaStore { core.store }
  var engine: Engine<ReplicaStore> {
    get { core.engine }
    _modify { yield &core.replicas.engine }
  }
  var anchorFile: any AnchorFile { core.anchorFile }
  func now() -> UInt64 { core.now() }
  func announce() { core.announce() }
  func households() -> [GroupID] { core.households() }
  func shown(_ zone: ZoneState) -> ZoneState { core.shown(zone) }
  func zones(of group: GroupID) -> [ZoneID] { core.zones(of: group) }
  func recordZone(of group: GroupID) throws -> ZoneID { try core.recordZone(of: group) }
  func identifier(_ bytes: [UInt8]) throws -> Identifier { try core.identifier(bytes) }
  func alone<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await core.alone(body)
  }
  func takeBack<Result>(unlessDone steps: () throws -> Result) throws -> Result {
    try core.takeBack(unlessDone: steps)
  }
  func become(_ person: PersonID, named name: String) throws {
    try core.become(person, named: name)
  }
  var joiningGroup: GroupID? {
    get { core.joiningGroup }
    set { core.joiningGroup = newValue }
  }
  var transferListener: TransferListener? { core.transferListener }
}
