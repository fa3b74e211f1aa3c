import HearthCRDT
import HearthCrypto
import HearthMembership
import HearthSync

/// Digits by which two people know that a request is the one they speak of.
///
/// A further device of a person shows the same ones for everything that it asks for.
enum JoinNumber {
  /// Returns thirty digits in groups of five.
  static func text(
    group: GroupID, invite: Identifier, device: DeviceID, person: PersonID
  ) -> String {
    // A frontier's bytes begin with a count and never with these letters.
    FrontierFingerprint(
      canonicalBytes: Array("HRTH/join-number/v1".utf8) + group.bytes + invite.bytes + device.bytes
        + person.bytes
    ).description
  }
}
