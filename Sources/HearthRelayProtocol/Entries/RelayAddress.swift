import HearthCrypto
import HearthSync

/// A relay's location and certificate: `hearth-relay://HOST:PORT/PIN`.
///
/// An address is one line to copy, and has only one spelling. The host is a name, an IPv4 address
/// or an IPv6 address in brackets. The pin is `RelayAccess.pin` in 52 base 32 characters. `ca` may
/// replace the pin: then any certificate for the host is valid that comes from an authority which
/// the device's system trusts.
package struct RelayAddress: Hashable, Sendable, CustomStringConvertible {
  /// The prefix of an address.
  package static let scheme = "hearth-relay://"
  /// The default port of relays.
  package static let defaultPort = 7440
  /// The longest name of a host (RFC 1035).
  package static let maximumHostBytes = 253

  /// The host, without brackets.
  package let host: String
  /// The TCP port, 1 to 65535.
  package let port: Int
  /// The digest of the relay's certificate; ``byAuthority`` if none is pinned.
  package let pin: Bytes32

  /// Host and port, for people.
  package var place: String { "\(host):\(port)" }

  /// The pin of an address that pins nothing: 32 zeros, which are the digest of no certificate.
  ///
  /// A program that knows only pins treats it as a pin that no relay matches.
  package static let byAuthority = Bytes32(exactly: [UInt8](repeating: 0, count: Bytes32.count))
  private static let authorityWord = "ca"

  /// Whether the system's authorities must vouch for the certificate instead of a pin.
  package var asksAuthorities: Bool { pin == RelayAddress.byAuthority }

  /// Creates an address from its parts.
  ///
  /// - Throws: `SyncError.malformed` for a host or port that no address can have.
  package init(host: String, port: Int, pin: Bytes32) throws {
    let isName = host.utf8.allSatisfy { RelayAddress.isNameByte($0) }
    let isNumber =
      host.utf8.contains(UInt8(ascii: ":"))
      && host.utf8.allSatisfy {
        RelayAddress.isIPv6Byte($0)
      }
    guard (1...RelayAddress.maximumHostBytes).contains(host.utf8.count), isName || isNumber else {
      throw SyncError(.malformed, "a relay's host is a name, 192.0.2.1 or [2001:db8::1]")
    }
    guard (1...65_535).contains(port) else {
      throw SyncError(.malformed, "a relay's port is a number from 1 to 65535")
    }
    self.host = host
    self.port = port
    self.pin = pin
  }

  /// Reads the one spelling of an address.
  ///
  /// - Throws: `SyncError.malformed`, saying which part is wrong.
  package init(_ text: String) throws {
    guard text.hasPrefix(RelayAddress.scheme) else {
      throw SyncError(.malformed, "a relay's address begins with \(RelayAddress.scheme)")
    }
    let rest = text.dropFirst(RelayAddress.scheme.count)
    let parts = rest.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let colon = parts[0].lastIndex(of: ":") else {
      throw SyncError(.malformed, "a relay's address is \(RelayAddress.scheme)HOST:PORT/PIN")
    }
    var host = parts[0][..<colon]
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.utf8.count > 2
    if isBracketed { host = host.dropFirst().dropLast() }
    let digits = parts[0][parts[0].index(after: colon)...]
    let pin =
      parts[1] == RelayAddress.authorityWord
      ? RelayAddress.byAuthority.array : (try? Base32.decode(String(parts[1]))) ?? []
    guard pin.count == Bytes32.count else {
      throw SyncError(
        .malformed, "the pin at the end of a relay's address has 52 characters: copy it whole")
    }
    try self.init(
      host: String(host), port: Int(digits) ?? 0, pin: Bytes32(exactly: pin))
    guard description == text else {
      throw SyncError(
        .malformed, "not the usual spelling of a relay's address; it would be \(description)")
    }
  }

  package var description: String {
    let place = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    let end = asksAuthorities ? RelayAddress.authorityWord : Base32.encode(pin.array)
    return "\(RelayAddress.scheme)\(place):\(port)/\(end)"
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "."):
      true
    default: false
    }
  }

  private static func isIPv6Byte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: ":"), UInt8(ascii: "."):
      true
    default: false
    }
  }
}
