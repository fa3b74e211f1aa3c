import Foundation
import HearthCrypto
import Testing

@testable import HearthRelay
@testable import HearthRelayCore
@testable import HearthRelayPostgres

@Suite("Addresses of databases")
struct PostgresAddressTests {
  private static let secret = "tr0ub4dor"

  @Test("a password is in what goes to the library and in nothing that is shown")
  func redaction() throws {
    for text in [
      "postgres://ann:\(Self.secret)@db.example:6543/relay",
      "postgresql://ann@db.example/relay?password=\(Self.secret)&sslmode=require",
      "postgres:///relay?host=/run/pg&user=ann&sslpassword=\(Self.secret)",
    ] {
      let address = try PostgresAddress(text)
      #expect(address.parameters.contains { $0.value == Self.secret })
      #expect(!address.description.contains(Self.secret) && address.description.contains("ann"))
      #expect(address.redacted("it says \(Self.secret)\nand more") == "it says ***; and more")
    }
    let address = try PostgresAddress("postgres:///?service=relay&target_session_attrs=any")
    #expect(address.description.contains("service relay"))
    // What the relay rests on cannot be talked out of it: the last one counts.
    #expect(
      address.parameters.last { $0.keyword == "target_session_attrs" }?.value == "read-write")
  }

  @Test("what is no URL is refused without being repeated")
  func refusal() {
    for text in [
      "", "postgres:/", "mysql://ann:\(Self.secret)@h/d", "postgres://ann:\(Self.secret)@h/d?x=y",
      "postgres://ann:\(Self.secret)@h:port%zz/d", "host=h password=\(Self.secret)",
      "postgres://\(String(repeating: "a", count: 4_096))",
    ] {
      let error = #expect(throws: RelayError(.invalidOption, "")) { try PostgresAddress(text) }
      #expect(error?.description.contains(Self.secret) == false)
    }
  }

  @Test("the command line that others see is covered where a password may be, and nowhere else")
  func veil() {
    for (line, seen) in [
      (
        "r\0serve\0--backend\0postgres://a:pw@h:1/d\0",
        "r\0serve\0--backend\0postgres://a:**@h:1/d\0"
      ),
      ("postgresql://a:p@w@h/d?password=q", "postgresql://a:***@h/d?**********"),
      ("--backend=postgres://a:p/w@h", "--backend=postgres://a:***@h"),
      ("postgres://a@h:5/d", "postgres://a@h:5/d"), ("http://a:b@h", "http://a:b@h"),
      ("hearth-relay://h:1/pin", "hearth-relay://h:1/pin"), ("", ""), ("://", "://"),
    ] {
      var bytes = Array(line.utf8)
      for range in ArgumentVeil.hiddenRanges(in: bytes) {
        for place in range { bytes[place] = UInt8(ascii: "*") }
      }
      #expect(String(decoding: bytes, as: UTF8.self) == seen)
    }
  }

  @Test("PostgreSQL is there where its tests are required")
  func presence() {
    let isRequired = ProcessInfo.processInfo.environment["HEARTH_REQUIRE_POSTGRES"] != nil
    #expect(PostgresCluster.isPresent || !isRequired, "\(PostgresCluster.absence)")
  }

  @Test("parameters have the bytes that PostgreSQL sends and takes")
  func values() {
    #expect(PostgresValue.int8(-2).encoded == [255, 255, 255, 255, 255, 255, 255, 254])
    #expect(PostgresValue.null.encoded == nil)
    #expect(PostgresValue.texts([]).encoded == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25])
    #expect(
      PostgresValue.byteStrings([[7], nil, []]).encoded
        == [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 17, 0, 0, 0, 3, 0, 0, 0, 1]
        + [0, 0, 0, 1, 7, 255, 255, 255, 255, 0, 0, 0, 0])
  }
}
