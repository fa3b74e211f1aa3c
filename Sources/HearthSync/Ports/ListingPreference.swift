import HearthCRDT

/// What a listing names first if a transport has more than one listing may have.
package struct ListingPreference: Sendable {
  /// The logs that the zone has or expects: a listing names all of them.
  package var logs: Set<TagAuthor>
  /// The tags of devices that the zone knows or expects.
  package var devices: Set<Identifier>
  /// The chunks of attachments that this node gives: a listing names those that are there.
  ///
  /// Otherwise whoever fills a transport with chunks would make everybody give theirs again in each
  /// exchange.
  package var chunks: Set<Identifier>

  package init(
    logs: Set<TagAuthor> = [], devices: Set<Identifier> = [], chunks: Set<Identifier> = []
  ) {
    self.logs = logs
    self.devices = devices
    self.chunks = chunks
  }

  /// The preference of a zone.
  init(of zone: ZoneState, giving chunks: Set<Identifier> = []) {
    self.chunks = chunks
    let known = zone.heads.lazy.filter { $0.sequence > 0 }.map {
      TagAuthor(tag: zone.authorTag(of: $0.author.device), incarnation: $0.author.incarnation)
    }
    logs = Set(zone.expectedLogs.keys).union(known)
    devices = Set(zone.expectedLogs.keys.lazy.map(\.tag)).union(zone.deviceByTag.keys)
  }
}
