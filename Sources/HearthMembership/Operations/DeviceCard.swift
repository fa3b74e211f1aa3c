import HearthCRDT

/// The public keys and the name of a device, as they are enrolled.
package struct DeviceCard: ControlCodable {
  package let signKey: [UInt8]
  package let boxKey: [UInt8]
  package let name: String

  package init(signKey: [UInt8], boxKey: [UInt8], name: String) {
    self.signKey = signKey
    self.boxKey = boxKey
    self.name = name
  }

  package static let codec = ControlCodec(
    Self.init, (\.signKey, .raw(32, "sign key")), (\.boxKey, .raw(32, "box key")),
    (\.name, .name("device's name")))
}
