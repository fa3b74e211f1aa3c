import Foundation
import HearthCrypto
import HearthRelayProtocol
import HearthSync
import HearthTransport
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// Compares the certificate of a connection with the pinned one.
final class CertificateSight: Sendable {
  private let pin: Bytes32
  private let isWrong = Atomic<Bool>(false)

  init(of address: RelayAddress) { pin = address.pin }

  func judge(_ certificates: [NIOSSLCertificate]) -> Bool {
    let der = (try? certificates.first?.toDERBytes()) ?? []
    let isRight = RelayAccess.pin(ofCertificate: der) == pin
    if !isRight { isWrong.store(true, ordering: .releasing) }
    return isRight
  }

  var sawAnother: Bool { isWrong.load(ordering: .acquiring) }
}

enum RelayLinkTLS {
  /// Creates the TLS context, for TLS 1.3 only.
  ///
  /// Either the pin alone or the system's certificate authorities judge the certificate.
  ///
  /// - Throws: `RelayFailure.untrusted` if the configured authorities cannot be read.
  static func context(for address: RelayAddress) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv13
    configuration.verifySignatureAlgorithms = [
      .ed25519, .ecdsaSecp256R1Sha256, .ecdsaSecp384R1Sha384, .rsaPssRsaeSha256,
      .rsaPssRsaeSha384, .rsaPssRsaeSha512,
    ]
    guard address.asksAuthorities else {
      configuration.certificateVerification = .noHostnameVerification
      // Only the pin counts, so the system's authorities need not be read: reading them takes
      // longer than the whole handshake.
      configuration.trustRoots = .certificates([])
      return try NIOSSLContext(configuration: configuration)
    }
    configuration.certificateVerification = .fullVerification
    let named = RelayAuthorities.named(in: ProcessInfo.processInfo.environment)
    if let named { configuration.trustRoots = .file(named.path) }
    do {
      return try NIOSSLContext(configuration: configuration)
    } catch {
      let place = named.map { "\($0.path), which \($0.variable) names," } ?? "this system"
      throw RelayFailure.untrusted(
        "no certificates of authorities can be read from \(place) to check the relay's")
    }
  }

  /// Creates the TLS handler for a connection to a relay.
  static func handler(
    _ context: NIOSSLContext, for address: RelayAddress, _ sight: CertificateSight
  ) throws -> NIOSSLClientHandler {
    if address.asksAuthorities {
      return try NIOSSLClientHandler(
        context: context,
        serverHostname: RelayAuthorities.isNumber(address.host) ? nil : address.host)
    }
    return try NIOSSLClientHandler(context: context, serverHostname: nil) {
      certificates, promise in
      promise.succeed(sight.judge(certificates) ? .certificateVerified : .failed)
    }
  }

  static func failure(_ error: any Error, _ sight: CertificateSight?) -> RelayFailure {
    if sight?.sawAnother == true { return .certificate }
    switch error {
    case let error as NIOConnectionError:
      if error.dnsAError != nil || error.dnsAAAAError != nil, error.connectionErrors.isEmpty {
        return .unreachable("its name \(error.host) cannot be resolved")
      }
      return error.connectionErrors.first.map { failure($0.error, sight) }
        ?? .unreachable("no address of \(error.host) answers")
    case let error as IOError:
      return .unreachable(String(cString: strerror(error.errnoCode)))
    case is ChannelError: return .unreachable("it does not answer")
    // The connection ended without a TLS close: the process was killed, or somebody cut the
    // connection.
    case NIOSSLError.uncleanShutdown: return .unreachable("the connection was cut")
    case is NIOSSLError, is BoringSSLError:
      return .unreachable("it does not speak TLS as a relay does")
    default: return .unreachable("\(error)")
    }
  }
}

/// Certificate authorities and their judgement of a relay's certificate.
enum RelayAuthorities {
  /// Returns where the environment says that the authorities' certificates are, as OpenSSL reads
  /// it.
  static func named(in environment: [String: String]) -> (variable: String, path: String)? {
    for variable in ["SSL_CERT_FILE", "SSL_CERT_DIR"] {
      if let path = environment[variable], !path.isEmpty { return (variable, path) }
    }
    return nil
  }

  /// Returns whether a host is an IP address.
  ///
  /// TLS sends no server name for an IP address.
  static func isNumber(_ host: String) -> Bool {
    (try? SocketAddress(ipAddress: host, port: 0)) != nil
  }

  /// Returns what is wrong with a certificate, in words; nil if the failure has another cause.
  static func objection(
    to certificate: NIOSSLCertificate?, of host: String, _ error: any Error,
    nowSeconds: Int = Int(Date().timeIntervalSince1970)
  ) -> String? {
    switch error {
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      return "its certificate is not for \(host) but for another name"
    case let error as NIOSSLError:
      guard case .handshakeFailed(.sslError(let stack)) = error,
        stack.contains(where: { "\($0)".contains("CERTIFICATE_VERIFY_FAILED") })
      else { return nil }
    default: return nil
    }
    if let end = certificate.map({ Int($0.notValidAfter) }), end < nowSeconds {
      return "its certificate expired on \(day(end))"
    }
    if let begin = certificate.map({ Int($0.notValidBefore) }), begin > nowSeconds {
      return "its certificate is valid only from \(day(begin)), or this device's clock is wrong"
    }
    return "no authority that this system trusts vouches for its certificate"
  }

  private static func day(_ seconds: Int) -> String {
    Date(timeIntervalSince1970: TimeInterval(seconds))
      .formatted(.iso8601.year().month().day())
  }
}
