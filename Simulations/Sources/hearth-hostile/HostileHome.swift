import ArgumentParser
import Foundation
import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthStore
import HearthSync
import HearthTransport
import HostileMember
import Household

/// Whose keys are used, and where to.
struct HomeOptions: ParsableArguments {
  @Option(help: "The folder of a node of a household.") var home: String
  @Option(help: "The seed of everything that is left to chance.") var seed: UInt64 = 1
  @Option(help: "Write under a life of the device of its own, counted from 2.") var life: UInt64?
}

/// A copy of a node's database, opened with its keys and without any check.
final class HostileHome {
  let engine: Engine<ReplicaStore>
  let zone: ZoneID
  private let copy: URL

  /// Copies and opens it.
  /// - Throws: what the files are refused for, and `HostileError` where there is no household.
  init(_ path: String) throws {
    let home = URL(fileURLWithPath: path, isDirectory: true)
    copy = FileManager.default.temporaryDirectory.appendingPathComponent(
      "hearth-hostile-\(ProcessInfo.processInfo.processIdentifier)-\(home.lastPathComponent)",
      isDirectory: true)
    try FileManager.default.createDirectory(at: copy, withIntermediateDirectories: true)
    do {
      for name in ["node.db", "node.db-wal"] {
        let source = home.appendingPathComponent(name)
        guard FileManager.default.fileExists(atPath: source.path) else { continue }
        try FileManager.default.copyItem(at: source, to: copy.appendingPathComponent(name))
      }
      let key = try Data(contentsOf: home.appendingPathComponent("key"))
      guard let master = try KeyFile.open(Array(key), passphrase: nil).first else {
        throw HostileError("there is no key in \(path)")
      }
      let store = try ReplicaStore(
        path: copy.appendingPathComponent("node.db").path, schema: HouseholdSchema.all)
      let engine = try Engine(
        store: store, identity: try DeviceIdentity(master: try master.key()),
        incarnation: try store.facts.value(of: Incarnations.currentFact) ?? 0,
        policy: HouseholdSchema.rolePolicy,
        nowMilliseconds: HostileHome.nowMilliseconds)
      guard
        let found = engine.zones.first(where: { $0.kind == .data && $0.database == .shared })
      else { throw HostileError("the node in \(path) is in no household") }
      self.engine = engine
      zone = found.id
    } catch {
      try? FileManager.default.removeItem(at: copy)
      throw error
    }
  }

  deinit {
    // Only a copy.
    try? engine.store.close()
    try? FileManager.default.removeItem(at: copy)
  }

  static var nowMilliseconds: UInt64 { UInt64(max(0, Date().timeIntervalSince1970 * 1_000)) }

  /// The day of the wall clock, in UTC.
  static func today() throws -> CivilDate {
    try CivilDate(dayNumber: Int(nowMilliseconds / 86_400_000))
  }

  /// The member whose node this is.
  func member(_ options: HomeOptions) throws -> HostileMember {
    try HostileMember(
      of: engine, writing: zone, seed: options.seed,
      nowMilliseconds: HostileHome.nowMilliseconds)
  }

  /// The chore of a title.
  /// - Throws: `HostileError` where there is none.
  func chore(titled title: String) throws -> RecordID {
    var found: RecordID?
    try engine.store.records.forEach(in: zone) { key, record in
      guard key.type == HouseholdSchema.chore, case .record(let state) = record,
        case .text(let text)? = state.shown(FieldID(.register, 1)), text == title
      else { return }
      found = key.id
    }
    guard let found else { throw HostileError("there is no chore called \(title)") }
    return found
  }
}

/// A deed that ends as files in a shared folder.
protocol FolderDeed: ParsableCommand {
  var options: HomeOptions { get }
  var folder: String { get }
  func files(by member: inout HostileMember, at home: HostileHome) throws -> [HostileFile]
}

extension FolderDeed {
  func run() throws {
    let home = try HostileHome(options.home)
    var member = try home.member(options)
    var written: [HostileFile] = []
    if let life = options.life {
      // Records of a life that the control log does not tell of count nowhere.
      member.begin(life: life)
      written.append(try member.announce())
    }
    written += try files(by: &member, at: home)
    let transport = FolderTransport(path: folder, digest: { segmentDigest($0) })
    for file in written { try transport.publish(file.name, file.bytes) }
    print(#"{"files":\#(written.count),"bytes":\#(written.reduce(0) { $0 + $1.bytes.count })}"#)
  }
}
