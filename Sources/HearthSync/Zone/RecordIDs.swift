import HearthCRDT
import HearthCrypto
import HearthMembership

/// The id of an event, derived from its position in its author's log, so nobody else can create it.
package func eventID(in zone: ZoneID, type: TypeID, dot: Dot, index: Int) -> RecordID {
  var writer = ByteWriter(capacity: 64)
  writer.identifier(zone)
  writer.varint(UInt64(type.rawValue))
  writer.author(dot.author)
  writer.varint(dot.sequence)
  writer.varint(index)
  return derivedIdentifier("HRTH/event/v1", writer.bytes)
}

/// The id of a record that several devices may create as the same thing.
package func naturalID(in zone: ZoneID, type: TypeID, key: [UInt8]) -> RecordID {
  var writer = ByteWriter(capacity: 64)
  writer.identifier(zone)
  writer.varint(UInt64(type.rawValue))
  writer.blob(key)
  return derivedIdentifier("HRTH/natural/v1", writer.bytes)
}
