import HearthCRDT
import HearthCrypto
import HearthRelayProtocol

/// Whom the mailboxes of a group list at one relay, by what the members' log says.
package struct RelayList: Sendable {
  /// The keys of the owner's and admins' devices, and of their recovery words.
  var managers: Set<[UInt8]> = []
  /// The keys of all other devices.
  var authors: Set<[UInt8]> = []
  /// Whose keys these are, in words, those of former devices among them.
  var holders: [[UInt8]: String] = [:]

  var digest: Bytes16 { RelayRosterReport.digest(managers: managers, authors: authors) }

  func rank(of key: [UInt8]) -> RelayRank {
    managers.contains(key) ? .manager : authors.contains(key) ? .author : .struck
  }

  /// Who is meant by a key.
  func holder(of key: [UInt8]) -> String {
    holders[key] ?? (key.isEmpty ? "somebody who is not listed" : "an unknown device")
  }
}
