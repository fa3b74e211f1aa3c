import HearthCRDT
import HearthCrypto
import HearthMembership

/// The cards that show this device's keys and name.
package struct OwnCards<S: Store> {
  package let engine: Engine<S>

  package init(engine: Engine<S>) { self.engine = engine }

  /// This device's public keys and name.
  package func card(named name: String) -> DeviceCard {
    DeviceCard(
      signKey: engine.identity.publicKeys.sign, boxKey: engine.identity.publicKeys.box, name: name)
  }

  /// The card by which the group knows this device.
  func ownCard(in group: GroupID) throws -> DeviceCard {
    guard let card = engine.membership(of: group).device(engine.device)?.card else {
      throw SyncError(.notAllowed, "this device does not belong to the group")
    }
    return card
  }
}
