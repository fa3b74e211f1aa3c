import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// Zones that none of a node's transports carries: nobody else gets them, and words cannot restore
/// them.
enum StrandedText {
  /// The remedy if there is no transport at all.
  static let howToAdd = "`hearth transport add relay ADDRESS`, or `add folder PATH`"

  /// A zone that no transport carries.
  struct Item {
    /// The name within a sentence, safe to print.
    let name: String
    /// The command that makes a transport carry it.
    let remedy: String
    let zone: ZoneState

    /// - Parameters:
    ///   - transports: the existing transports.
    ///   - zones: the node's zones; one of several with the same name is identified by its id.
    init(_ zone: ZoneState, _ transports: [TransportSetting], among zones: [ZoneState]) {
      self.zone = zone
      let isShared = zone.database == .shared
      name = isShared ? Style.safe(zone.name) : "your private database"
      let twins = HouseholdNames.zones(zone.name, among: zones.filter { $0.database == .shared })
      let typed = twins.count > 1 ? ShortID.text(zone.id) : ShellText.word(name)
      let number = transports.count == 1 ? transports.first.map { "\($0.number)" } : nil
      remedy =
        transports.isEmpty
        ? StrandedText.howToAdd
        : "`hearth transport carry \(number ?? "NUMBER") "
          + (isShared ? "--also \(typed)`" : "--private`")
    }
  }

  /// Returns the zones that are to be exchanged with others and that no transport carries.
  static func items(on node: Node) async throws -> [Item] {
    let (transports, zones) = (try await node.transports.list(), await node.dataZones())
    return try await node.transports.uncarriedZones().map { Item($0, transports, among: zones) }
  }

  /// Returns the warnings after a change of transports.
  static func warnings(on node: Node) async throws -> [String] {
    let (transports, zones) = (try await node.transports.list(), await node.dataZones())
    guard !transports.isEmpty else {
      return zones.contains { $0.database == .shared }
        ? ["hearth: warning: no transport is left: this device cannot sync with others"]
        : []
    }
    let stranded = try await node.transports.uncarriedZones(withUnshared: true)
      .map { Item($0, transports, among: zones) }
    return stranded.map {
      "hearth: warning: none of your transports carries \($0.name) now: "
        + ($0.zone.database == .shared
          ? "nobody else receives its new changes, and recovery words cannot restore it"
          : "no other device of yours receives it, and recovery words cannot restore it")
        + "; \($0.remedy)"
    }
  }

  /// Returns the zones that recovery words cannot restore, because no transport has any of them.
  static func beyondWords(on node: Node) async throws -> [String] {
    try await items(on: node).map {
      "the words do NOT restore \($0.name): none of your transports carries it; "
        + "\($0.remedy), then `hearth sync`"
    }
  }

  /// Returns the warnings about zones with changes that no transport takes, for a sync.
  static func unsynced(on node: Node) async throws -> [String] {
    let stranded = try await items(on: node)
    guard !stranded.isEmpty else { return [] }
    let statuses = try await node.diagnostics.zones()
    return stranded.filter { item in
      statuses.contains { $0.zone.group == item.zone.group && $0.unsynced > 0 }
    }.map {
      "hearth: warning: none of your transports carries \($0.name), which has changes that "
        + "nobody else has: \($0.remedy)"
    }
  }
}
