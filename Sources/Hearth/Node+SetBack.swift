import Foundation
import HearthCRDT
import HearthRelayProtocol
import HearthStore
import HearthSync
import HearthTransport

// Folders and relays that somebody has put back to an old copy: told when it is seen, and kept.
extension Node {
  private static let setBackFact = "transports.setback"
  /// At most one notice a day tells it of one transport, however often it happens.
  private static let quietMilliseconds: UInt64 = 24 * 3_600_000
  /// For how long `hearth status` tells it: a week.
  ///
  /// The next round has given back what was lost, so nothing else would show it; who put the old
  /// copy there may do so again, and has to be found by people, who look once in a week.
  package static let setBackShownMilliseconds: UInt64 = 7 * 24 * 3_600_000

  /// When a transport was last seen to be set back, and when a notice last told so.
  private struct SetBack: Codable {
    var seen: UInt64
    var told: UInt64
  }

  private func setBacks() throws -> [String: SetBack] {
    guard let encoded = try store.fact(Node.setBackFact) else { return [:] }
    return try JSONDecoder().decode([String: SetBack].self, from: Data(encoded))
  }

  /// When a transport was last seen to be set back; nil if never, or more than a week ago.
  package func setBack(of transport: TransportSetting) throws -> UInt64? {
    guard let seen = try setBacks()[transport.path]?.seen,
      now() < seen + Node.setBackShownMilliseconds
    else { return nil }
    return seen
  }

  /// Keeps a notice where a round saw that a transport is an older state of itself.
  func noticeSetBack(_ round: TransportReport) throws {
    guard round.isSetBack else { return }
    let moment = now()
    let places = Set(try transports().map(\.path))
    var known = try setBacks().filter { places.contains($0.key) }
    let last = known[round.setting]?.told
    let isToTell = last.map { moment >= $0 + Node.quietMilliseconds || moment < $0 } ?? true
    known[round.setting] = SetBack(seen: moment, told: isToTell ? moment : last ?? moment)
    let encoded = Array(try JSONEncoder().encode(known))
    let notice = Notice(
      kind: .transport, zone: nil, device: nil, text: Node.setBackText(of: round),
      milliseconds: moment)
    try store.transaction {
      try store.setFact(Node.setBackFact, encoded)
      if isToTell { try store.add(notice) }
    }
  }

  /// What is told of a transport that was set back.
  package static func setBackText(of round: TransportReport) -> String {
    let again = "what this device has is given to it again"
    guard !isRelay(round.setting) else {
      return "the relay at \(printable(placeName(of: round.setting))) was set back to an older "
        + "state, or lost what it had: \(again)"
    }
    let changes = round.lost == 1 ? "1 change" : "\(round.lost) changes"
    return "the folder \(printable(round.setting)) was set back: it does not hold \(changes) that "
      + "it had held, so an old copy came back or somebody took files away; \(again)"
  }

  /// A transport's place in few words: a folder's path, a relay's host and port.
  private static func placeName(of setting: String) -> String {
    guard let address = try? RelayAddress(setting) else { return setting }
    return "\(address.host):\(address.port)"
  }
}
