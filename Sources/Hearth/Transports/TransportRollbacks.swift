import Foundation
import HearthCRDT
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

/// Folders and relays that somebody has rolled back to an old copy: reported when detected, and
/// kept.
struct TransportRollbacks: NodeWork {
  let core: NodeCore

  private static let fact = JSONFact.named("transports.setback", of: [String: Rollback].self)
  /// At most one notice a day reports it for one transport, however often it happens.
  private static let quietMilliseconds: UInt64 = 24 * 3_600_000
  /// How long `hearth status` reports it: a week.
  ///
  /// The next round has restored the lost data, so nothing else would show it. The person who
  /// restored the old copy may do so again, and people, who look once a week, must identify that
  /// person.
  static let shownMilliseconds: UInt64 = 7 * 24 * 3_600_000

  /// The times at which a rollback of a transport was last seen, and last reported by a notice.
  private struct Rollback: Codable {
    var seen: UInt64
    var told: UInt64
  }

  private func all() throws -> [String: Rollback] {
    try store.facts.value(of: TransportRollbacks.fact) ?? [:]
  }

  /// Returns when a transport was last seen rolled back; nil if never, or more than a week ago.
  func last(of transport: TransportSetting) throws -> UInt64? {
    guard let seen = try all()[transport.path]?.seen,
      now() < seen + TransportRollbacks.shownMilliseconds
    else { return nil }
    return seen
  }

  /// Adds a notice if a round saw that a transport is an older state of itself.
  func notice(_ round: TransportReport) throws {
    guard round.isSetBack else { return }
    let moment = now()
    let places = Set(try transports.list().map(\.path))
    var known = try all().filter { places.contains($0.key) }
    let last = known[round.setting]?.told
    let isToTell =
      last.map { moment >= $0 + TransportRollbacks.quietMilliseconds || moment < $0 } ?? true
    known[round.setting] = Rollback(seen: moment, told: isToTell ? moment : last ?? moment)
    let notice = Notice(
      kind: .transport, zone: nil, device: nil, text: RollbackWarning.text(of: round),
      milliseconds: moment)
    try store.transaction {
      try store.facts.set(TransportRollbacks.fact, to: known)
      if isToTell { try store.notices.add(notice) }
    }
  }
}

/// What people read about a transport that was rolled back.
package enum RollbackWarning {
  /// Returns the text about a transport that was rolled back.
  package static func text(of round: TransportReport) -> String {
    let again = "this device publishes its data there again"
    guard !TransportAddress.isRelay(round.setting) else {
      return "the relay at \(printable(placeName(of: round.setting))) was rolled back to an older "
        + "state, or lost its data: \(again)"
    }
    let changes = round.lost == 1 ? "1 change" : "\(round.lost) changes"
    return "the folder \(printable(round.setting)) was rolled back: it lacks \(changes) that it "
      + "had, so somebody restored an old copy or removed files; \(again)"
  }

  /// Returns a transport's short name: a folder's path, a relay's host and port.
  private static func placeName(of setting: String) -> String {
    guard let address = try? RelayAddress(setting) else { return setting }
    return "\(address.host):\(address.port)"
  }
}

extension NodeWork {
  /// The transports that were rolled back.
  var transportRollbacks: TransportRollbacks { TransportRollbacks(core: core) }
}
