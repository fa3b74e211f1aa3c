import HearthCRDT

@testable import HearthCrypto
@testable import HearthMembership
@testable import HearthSync

// What lies sealed is reached in two ways, by the first byte of an input: even, the rest is what
// came from outside; odd, the rest is what an insider sealed with the right keys.

private func repeatedKey(_ byte: UInt8) throws -> SecretKey {
  var bytes = [UInt8](repeating: byte, count: 32)
  return try SecretKey(consuming: &bytes)
}

private let random = [UInt8](repeating: 0xc0, count: 32)

// MARK: - Segments

/// A control zone with keys, its only device and an epoch.
struct SegmentPlace: Sendable {
  let device: DeviceIdentity
  let deviceID: DeviceID
  let genesis: ControlOperation.Genesis
  let zone: ZoneState
  let epoch: EpochKey
  let header: @Sendable (UInt64) throws -> EnvelopeHeader
  /// Knows nobody: a device must introduce itself.
  let stranger: SegmentOpener
  /// Knows the device, so that its signature and chain are judged.
  let friend: SegmentOpener

  init() throws {
    let device = try DeviceIdentity(master: repeatedKey(1))
    let secret = try ZoneSecret(secret: repeatedKey(3))
    let id = Identifier(high: 0xc0, low: 0xc0)
    let keys = device.publicKeys
    let card = DeviceCard(signKey: keys.sign, boxKey: keys.box, name: "laptop")
    let genesis = ControlOperation.Genesis(
      nonce: id, database: .shared, controlZone: id, zones: [], founder: id, founderName: "Anna",
      device: card, createdMilliseconds: 1)
    let group = ControlIdentity.groupID(of: genesis)
    guard let deviceID = ControlIdentity.deviceID(of: card) else {
      preconditionFailure("keys without an id")
    }
    let author = Author(device: deviceID, incarnation: 1 << 32)
    let event = EventState(
      version: Version(
        dot: Dot(author: author, sequence: 1), time: HybridTime(milliseconds: 1)),
      cause: Frontier(),
      fields: [
        EventField(
          ControlOperation.bodyField, .bytes(ControlOperation.genesis(genesis).encoded))
      ])
    let membership = Membership(group: group, events: [(id, event)])
    precondition(membership.device(deviceID) != nil, "the founder is no member")
    epoch = try EpochKey(secret: repeatedKey(2), groupID: group.bytes, zoneID: id.bytes)
    let stored = StoredZone(
      id: id, group: group, kind: .control, database: .shared, name: "control",
      wrappedSecret: [], wrappedEpochs: [])
    var zone = ZoneState(stored, secret: secret, epochs: [epoch], heads: [])
    stranger = SegmentOpener(zone: zone, membership: Membership())
    zone.recognise([deviceID])
    friend = SegmentOpener(zone: zone, membership: membership)
    let epoch = epoch
    let tag = secret.zoneTag
    let authorTag = try secret.authorTag(deviceID: keys.deviceID)
    let before = try epoch.link([UInt8](repeating: 0, count: 32))
    header = { count in
      try EnvelopeHeader(
        type: .segment, zoneTag: tag, authorTag: authorTag, incarnation: 1 << 32,
        epochTag: epoch.tag, firstSeq: 1, lastSeq: count, linkBefore: before, linkAfter: before)
    }
    self.device = device
    self.deviceID = deviceID
    self.genesis = genesis
    self.zone = zone
  }
}

func segmentDecoder() throws -> Decoder {
  let place = try SegmentPlace()
  return { bytes in
    guard let mode = bytes.first else { return nil }
    if mode.isMultiple(of: 2) {
      let envelope = Array(bytes.dropFirst())
      _ = try? EnvelopeFrame(envelope)
      _ = try? Envelope.parseHeader(envelope)
      _ = try place.stranger.open(envelope)
      return nil
    }
    // The number of changes outside, then the plaintext, padded here so that inputs stay short.
    guard bytes.count > 2 else { return nil }
    var plaintext = Array(bytes.dropFirst(2)) + [Padding.marker]
    let padded = Padding.paddedCount(plaintext.count - 1)
    plaintext += [UInt8](repeating: 0, count: padded - plaintext.count)
    let envelope = try Envelope.seal(
      place.header(UInt64(bytes[1]) + 1), zoneID: place.zone.id.bytes, device: place.device,
      epoch: place.epoch, plaintext: plaintext, random: random)
    // Verifying is slow, so it is done only where bit 1 asks for it, and for what can be read.
    if mode & 2 != 0, reads(envelope, place) { _ = try place.friend.open(envelope) }
    _ = try place.stranger.open(envelope)
    return nil
  }
}

private func reads(_ envelope: [UInt8], _ place: SegmentPlace) -> Bool {
  guard
    let content = try? Envelope.openWeighed(
      envelope, zoneID: place.zone.id.bytes, epoch: place.epoch)
  else { return false }
  let changes = try? ChangeBatch.decode(
    content.body, incarnation: 1 << 32, first: 1, weight: content.weight)
  return changes != nil
}

// MARK: - Capsules

func capsuleDecoder() throws -> Decoder {
  var seed = [UInt8](0..<16)
  let invite = try InviteSecret(seed: SecretBytes(consuming: &seed))
  let access = try RecoveryCapsuleAccess(secret: repeatedKey(6))
  let place = ("HRTH/recovery-capsule/v1" as Domain).bytes + access.locator
  return { bytes in
    guard let mode = bytes.first else { return nil }
    let rest = Array(bytes.dropFirst())
    switch mode % 4 {
    case 0: _ = try InvitationCapsule(opening: rest, with: invite)
    case 1:
      let capsule = try Capsule.seal(
        rest, invite.capsuleKey, invite.rendezvousID, random: random)
      _ = try InvitationCapsule(opening: capsule, with: invite)
    case 2: _ = try RecoveryCapsule.open(rest, with: access)
    default:
      let capsule = try Capsule.seal(rest, access.capsuleKey, place, random: random)
      let body = try RecoveryCapsule.open(capsule, with: access)
      let again = try RecoveryCapsule.seal(body, access, random: random)
      precondition(again == capsule, "two spellings of one recovery capsule")
    }
    return nil
  }
}

// MARK: - Key files

func keyFileDecoder() throws -> Decoder {
  var text = Array("correct horse".utf8)
  let passphrase = try Passphrase(consuming: &text)
  let bounds = KDFParameters.Bounds(operations: 1...1, memoryKiB: 8...8)
  let salt = [UInt8](0..<16)
  return { bytes in
    guard let mode = bytes.first else { return nil }
    let rest = Array(bytes.dropFirst())
    if mode.isMultiple(of: 2) {
      _ = try? KeyFile.mode(of: rest)
      _ = try? KeyFile.parameters(of: rest)
      _ = try KeyFile.open(rest, passphrase: passphrase, bounds: bounds)
      return nil
    }
    // The secrets' encoding, padded here so that inputs stay short.
    let count = (rest.count + 1 + KeyFile.bodyMultiple - 1) / KeyFile.bodyMultiple
    let body = try SecretBytes(count: count * KeyFile.bodyMultiple) { out in
      out.initializeMemory(as: UInt8.self, repeating: 0)
      out.part(0..<rest.count).copyBytes(from: rest)
      out[rest.count] = Padding.marker
    }
    let file = try KeyFile.protect(body, nil, .testMinimum, bounds, salt: salt, random: random)
    let secrets = try KeyFile.open(file, passphrase: nil, bounds: bounds)
    guard try KeyFile.seal(secrets, nil, .testMinimum, bounds, salt: salt, random: random) == file
    else { preconditionFailure("two spellings of one key file") }
    return nil
  }
}

// MARK: - What people type

let inviteDecoder: Decoder = { bytes in
  let text = String(decoding: bytes, as: UTF8.self)
  if let seed = try? InviteText.decode(text) {
    let again = try InviteText.decode(InviteText.encode(seed))
    precondition(again == seed, "two seeds of one text")
  }
  _ = try InvitationLink(text: text)
  return nil
}

let wordsDecoder: Decoder = { bytes in
  var typed = bytes
  defer { precondition(typed.isEmpty, "the text was left behind") }
  let words = try RecoveryWords(consuming: &typed)
  // What was read is printed and read again: the same twelve places.
  var printed = words.withWords { Array($0.map(\.text).joined(separator: " ").utf8) }
  let again = try RecoveryWords(consuming: &printed)
  words.withWords { first in
    again.withWords { second in
      precondition(first.map(\.place) == second.map(\.place), "other words")
    }
  }
  return nil
}
