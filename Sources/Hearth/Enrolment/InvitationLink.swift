import HearthCrypto
import HearthRelayProtocol
import HearthSync

/// The text of an invitation: its secret, and the location of the household's folder.
///
/// `hearth://join/v1/SECRET/FOLDER/RELAY`, where SECRET has 28 characters with their own check,
/// FOLDER is the path in base32, which may be empty, and RELAY the relay's pin, port and host in
/// base32, if there is one. Anybody with the link can join, so the inviter gives it to one person
/// only.
package struct InvitationLink {
  package let secret: InviteSecret
  /// The inviter's path of the shared folder, if there is one.
  package let folder: String?
  /// The relay of the household, if there is one.
  package let relay: RelayAddress?

  private static let prefix = "hearth://join/v1/"
  /// The longest text that is accepted as a link.
  package static let maximumCharacters = 8 * 1024

  init(secret: InviteSecret, folder: String?, relay: RelayAddress? = nil) {
    self.secret = secret
    self.folder = folder
    self.relay = relay
  }

  /// Reads a link; the error names the fault.
  package init(text: String) throws {
    let text = text.filter { !$0.isWhitespace }
    guard text.utf8.count <= InvitationLink.maximumCharacters else {
      throw HearthError(.invalid, "this is too long for an invitation link")
    }
    guard text.lowercased().hasPrefix(InvitationLink.prefix) else {
      throw HearthError(
        .invalid,
        "this is not an invitation link: a link begins with \(InvitationLink.prefix); copy the "
          + "last line that `hearth invite` printed")
    }
    let parts = text.dropFirst(InvitationLink.prefix.count)
      .split(separator: "/", omittingEmptySubsequences: false)
    do {
      secret = try InviteSecret(text: String(parts.first ?? ""))
      folder =
        parts.count > 1 && !parts[1].isEmpty
        ? try InvitationLink.folder(Base32.decode(String(parts[1]))) : nil
      relay =
        parts.count > 2 && !parts[2].isEmpty
        ? try InvitationLink.relay(Base32.decode(String(parts[2]))) : nil
    } catch {
      let fault = words(of: error)
      throw HearthError(
        .invalid, "the invitation link is damaged: copy the whole link again (\(fault))",
        cause: error)
    }
  }

  /// The link as people send it.
  package var text: String {
    let place = relay.map { Base32.encode(InvitationLink.bytes(of: $0)) }
    return InvitationLink.prefix + secret.text + "/" + Base32.encode(Array((folder ?? "").utf8))
      + (place.map { "/" + $0 } ?? "")
  }

  /// The bytes of an address: 32 of pin, 2 of port, big-endian, and the host.
  private static func bytes(of relay: RelayAddress) -> [UInt8] {
    relay.pin.array + [UInt8(relay.port >> 8), UInt8(relay.port & 255)] + Array(relay.host.utf8)
  }

  private static func folder(_ bytes: [UInt8]) throws -> String {
    guard !bytes.contains(0), let path = String(validating: bytes, as: UTF8.self) else {
      throw CryptoError(.malformed, "its second part is not a folder path.")
    }
    return path
  }

  private static func relay(_ bytes: [UInt8]) throws -> RelayAddress {
    guard bytes.count > Bytes32.count + 2 else {
      throw SyncError(.malformed, "the relay's address is cut off")
    }
    let port = Int(bytes[Bytes32.count]) << 8 | Int(bytes[Bytes32.count + 1])
    return try RelayAddress(
      host: String(decoding: bytes[(Bytes32.count + 2)...], as: UTF8.self), port: port,
      pin: Bytes32(exactly: Array(bytes.prefix(Bytes32.count))))
  }
}
