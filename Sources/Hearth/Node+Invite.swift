import HearthCRDT
import HearthCrypto
import HearthSync
import HearthTransport

extension Node {
  /// Makes an invitation to a household and puts its capsule on every transport.
  ///
  /// - Returns: the link; whoever has it can join.
  package func invite(
    to zone: ZoneID, role: Role, maximumUses: Int, expiresInMilliseconds: UInt64
  ) throws -> InvitationLink {
    let settings = try transports()
    guard !settings.isEmpty else {
      throw HearthError(
        .offline,
        "nobody could join yet: add a way to reach this household first, "
          + "`hearth transport add folder PATH`")
    }
    let state = try engine.zone(zone)
    let made = try engine.invite(
      to: state.group, named: state.name, role: role, maximumUses: maximumUses,
      expiresMilliseconds: now() + expiresInMilliseconds, nowMilliseconds: now())
    for setting in settings {
      try folderTransport(setting.path).publish(made.capsuleName, made.capsule)
    }
    let report = try sync()
    if let failure = report.transports.first(where: { $0.failure != nil })?.failure {
      throw HearthError(
        .offline, "the invitation could not be put into the folder: \(failure)")
    }
    return InvitationLink(secret: made.secret, folder: settings.first?.path)
  }

  /// Joins a household by a link.
  ///
  /// - Parameters:
  ///   - folderOverride: where the shared folder is on this device, if not where the link says.
  ///   - bootstrapping: snapshots to start zones from, where they are at hand.
  /// - Returns: the household's zone.
  package func join(
    _ link: InvitationLink, folderOverride: String?, bootstrapping: [ZoneID: [[UInt8]]] = [:]
  ) throws -> ZoneID {
    guard let path = folderOverride ?? link.folder else {
      throw HearthError(
        .invalid, "the link does not say where the shared folder is: add --folder PATH")
    }
    let transport = folderTransport(path)
    let rendezvous = try BlobName(
      kind: .capsule, scope: identifier(link.secret.rendezvousID))
    let capsule: [UInt8]?
    do {
      capsule = try transport.fetch(rendezvous)
    } catch {
      throw HearthError(
        .offline, "the shared folder \(path) cannot be read: \(error)", cause: error)
    }
    guard let capsule else {
      throw HearthError(
        .notFound,
        "the folder \(path) does not hold this invitation: wait until it has arrived there, or "
          + "name the right folder with --folder PATH")
    }
    let opened = try engine.beginJoining(capsule, with: link.secret, nowMilliseconds: now())
    _ = try addFolder(path)
    let control = try engine.controlZone(of: opened.group)
    var report = TransportReport(setting: path)
    try engine.pull(
      control.id, from: transport, anchorFile: anchorFile, nowMilliseconds: now(), &report)
    try engine.finishJoining(
      opened, with: link.secret, person: person, personName: profile.personName,
      deviceName: profile.deviceName, nowMilliseconds: now())
    guard engine.membership(of: opened.group).isActive(engine.device) else {
      throw HearthError(
        .notAllowed,
        "the household does not accept this device: the invitation may have expired or been used "
          + "at the same moment by somebody else")
    }
    for zone in engine.zones.map(\.id) {
      guard let chunks = bootstrapping[zone] else { continue }
      try engine.bootstrap(zone, from: chunks, nowMilliseconds: now())
    }
    _ = try sync()
    guard let zone = engine.zones.first(where: { $0.group == opened.group && $0.kind == .data })
    else { throw HearthError(.corrupt, "the household has no zone of records") }
    return zone.id
  }

  private func identifier(_ bytes: [UInt8]) throws -> Identifier {
    guard let identifier = Identifier(bytes: bytes) else {
      throw HearthError(.corrupt, "an id has the wrong length")
    }
    return identifier
  }
}
