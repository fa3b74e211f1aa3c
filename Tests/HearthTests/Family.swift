import Foundation
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync
import Testing

/// A note: one field of each kind.
enum Note {
  static let type = TypeID.record(100)
  static let title = FieldID(.register, 1)
  static let points = FieldID(.history, 2)
  static let votes = FieldID(.counter, 3)
  static let tags = FieldID(.set, 4)
  static let pinned = FieldID(.register, 5)
  static let schema = RecordSchema(
    type, "note",
    [
      FieldSchema(title, "title", .text), FieldSchema(points, "points", .int),
      FieldSchema(votes, "votes", .int), FieldSchema(tags, "tags", .text),
      FieldSchema(pinned, "pinned", .bool),
    ])

  /// The id of a note of a test.
  static func id(_ number: UInt64) -> RecordID {
    Identifier(high: 0x55aa_1234_9876_0f0f, low: number)
  }
}

/// Several nodes of one household in a folder of their own, removed at the end.
final class Family {
  let root: URL
  var folder: String { root.appendingPathComponent("shared").path }
  private(set) var homes: [String] = []

  init() throws {
    root = FileManager.default.temporaryDirectory
      .appendingPathComponent("hearth-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: root.appendingPathComponent("shared"), withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(at: root)
  }

  func home(_ name: String) -> String {
    root.appendingPathComponent(name).path
  }

  static let schema = NodeSchema(records: [Note.schema])

  /// Copies a node's folder or file, as a person does, in place of what is there.
  static func copy(_ from: String, _ to: String) throws {
    try? FileManager.default.removeItem(atPath: to)
    try FileManager.default.copyItem(atPath: from, toPath: to)
  }

  /// Makes a household of as many nodes, all joined and in step.
  func grow(
    _ names: [String], schema: NodeSchema = Family.schema
  ) async throws -> (nodes: [Node], zone: ZoneID) {
    var nodes: [Node] = []
    for name in names {
      nodes.append(
        try await Node.create(
          at: home(name), person: name, device: "phone", passphrase: nil, schema: schema))
    }
    let zone = try await nodes[0].createHousehold(named: "Home")
    _ = try await nodes[0].transports.add(folder: folder)
    for node in nodes.dropFirst() {
      let link = try await nodes[0].invitations.create(
        to: zone, role: .member, maximumUses: 1, expiresInMilliseconds: 3_600_000)
      _ = try await node.invitations.join(try InvitationLink(text: link.text))
    }
    try await Family.settle(nodes)
    return (nodes, zone)
  }

  /// Syncs everybody until nothing moves; fails if that takes more than three rounds.
  static func settle(_ nodes: [Node]) async throws {
    for _ in 0..<4 {
      var moved = 0
      for node in nodes {
        let report = try await node.sync()
        moved += report.received + report.published
      }
      if moved == 0 { return }
    }
    Issue.record("the family was not silent after four rounds")
  }

  static func digests(_ nodes: [Node], _ zone: ZoneID) async throws -> Set<[UInt8]> {
    var digests: Set<[UInt8]> = []
    for node in nodes { digests.insert(try await node.digest(of: zone)) }
    return digests
  }
}

extension Node {
  /// Writes operations on one note.
  func note(_ id: RecordID, _ bodies: [HearthCRDT.Operation.Body], in zone: ZoneID) throws {
    try write(to: zone) { _, _ in
      (bodies.map { HearthCRDT.Operation(RecordKey(type: Note.type, id: id), $0) }, ())
    }
  }

  /// The notices about this device's own doings and data, not those about people.
  func ownNotices() throws -> [Notice] {
    try notices().filter { $0.kind != .people }
  }

  func state(_ id: RecordID, in zone: ZoneID) throws -> RecordState? {
    try read(zone) { try $0.record(RecordKey(type: Note.type, id: id)) }
  }
}
