import HearthCRDT
import HearthStore
import HearthSync

/// The note outside of the database, read as its documentation says and not by its own code.
struct AnchorNote {
  private var incarnation: UInt64 = 0
  private var sealed: [ZoneID: UInt64] = [:]

  /// Reads a note; nil if the bytes are none.
  init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    do {
      guard try reader.byte("version") == 1 else { return nil }
      _ = try reader.fixed64("generation")
      incarnation = try reader.fixed64("incarnation")
      for _ in 0..<(try reader.count("zones", itemBytes: 17)) {
        let zone = try reader.identifier("zone")
        sealed[zone] = try reader.varint("sequence")
      }
    } catch {
      return nil
    }
  }

  /// What is wrong with a note when its device stores a segment; nil if nothing is.
  ///
  /// What others may have read must be noted before: a database that is restored a moment later
  /// would otherwise write the same numbers again, and nobody would notice.
  static func fault(
    of bytes: [UInt8]?, before name: SegmentName, by engine: Engine<ReplicaStore>
  ) -> String? {
    guard let zone = engine.zones.first(where: { $0.tag == name.zoneTag }),
      name.authorTag == zone.authorTag(of: engine.device), name.incarnation == engine.incarnation
    else { return nil }
    let what = "stores \(name.first)…\(name.last) of \(zone.name)"
    guard let note = bytes.flatMap({ AnchorNote($0) }) else { return "\(what) without an anchor" }
    guard note.incarnation == engine.incarnation, note.sealed[zone.id] ?? 0 >= name.last else {
      return "\(what) before its anchor says so"
    }
    return nil
  }
}
