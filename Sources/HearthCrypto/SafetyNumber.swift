/// Sixty digits that two people compare to verify each other's device keys.
///
/// There are thirty digits for each person, the smaller thirty first, so both see the same number.
/// A person's digits follow from the person's id and the sorted hashes of the keys of all the
/// person's devices. They change only if a device is added or removed. Equal numbers mean equal
/// keys (99 bits a person). A comparison of only one half verifies only one person.
package struct SafetyNumber: Hashable, Sendable, CustomStringConvertible {
  /// The number of digits.
  package static let digitCount = 60
  /// The most devices of one person in a comparison.
  package static let maximumDevices = 1024
  /// The sixty digits without spaces.
  package let digits: String

  private static let personDomain: Domain = "HRTH/safety-person/v1"
  private static let deviceDomain: Domain = "HRTH/safety-device/v1"

  /// One of the two people: an id of 16 bytes and the keys of every device, in any order.
  package struct Person: Sendable {
    let id: [UInt8]
    let devices: [DevicePublicKeys]

    /// Takes a person's devices; the same device twice counts once.
    /// - Throws: `badLength` unless the id has 16 bytes and there are 1 to ``maximumDevices``
    ///   devices.
    package init(id: [UInt8], devices: [DevicePublicKeys]) throws {
      try CryptoError.require("A person's id", id.count, equals: 16)
      guard 1...SafetyNumber.maximumDevices ~= devices.count else {
        throw CryptoError(
          .badLength,
          "A safety number covers 1 to \(SafetyNumber.maximumDevices) devices of a person, not "
            + "\(devices.count).")
      }
      self.id = id
      self.devices = devices
    }
  }

  /// Makes the number of two people in any order; about 20 ms.
  package init(_ first: Person, _ second: Person) {
    digits = [Self.half(first), Self.half(second)].sorted().joined()
  }

  /// The digits in twelve groups of five.
  package var description: String { ComparisonDigits.grouped(digits, by: 5) }

  /// Whether a typed text is this number, with any spaces, dashes and line breaks.
  package func matches(_ typed: String) -> Bool {
    ComparisonDigits.read(typed, count: Self.digitCount) == digits
  }

  private static func half(_ person: Person) -> String {
    let hashes = Set(person.devices.map { deviceHash($0) }).sorted()
    return ComparisonDigits.make(personDomain, [person.id, hashes.flatMap(\.array)])
  }

  private static func deviceHash(_ keys: DevicePublicKeys) -> Bytes32 {
    let digest = Blake2b.hash(deviceDomain.bytes + keys.sign + keys.box, count: Bytes32.count)
    return digest.withUnsafeBytes { Bytes32(loading: $0) }
  }
}

/// Thirty digits of a device's knowledge, so that two devices side by side can be compared.
///
/// Equal digits mean equal bytes, hence the same heads of every log: no intermediary hides anything
/// from one of them. The caller provides the canonical bytes of a frontier.
package struct FrontierFingerprint: Hashable, Sendable, CustomStringConvertible {
  /// The number of digits.
  package static let digitCount = 30
  /// The thirty digits without spaces.
  package let digits: String
  private static let domain: Domain = "HRTH/frontier-digits/v1"

  /// Makes the fingerprint of canonical bytes; about 10 ms.
  package init(canonicalBytes: [UInt8]) {
    digits = ComparisonDigits.make(Self.domain, [canonicalBytes])
  }

  /// The digits in six groups of five.
  package var description: String { ComparisonDigits.grouped(digits, by: 5) }

  /// Whether a typed or scanned text is this fingerprint, with any spaces and dashes.
  package func matches(_ typed: String) -> Bool {
    ComparisonDigits.read(typed, count: Self.digitCount) == digits
  }
}
