// Characters of texts as arrays, and as bytes again.
//
// Nearly all pieces of most texts are ASCII. The loops below then look at no character alone, so
// that the compiler makes them take many at a time.

extension String {
  /// The number of characters; O(n).
  var scalarCount: Int {
    // Each character has one byte that does not continue another.
    let count = utf8.withContiguousStorageIfAvailable { bytes in
      bytes.reduce(0) { $0 &+ ($1 & 0xC0 == 0x80 ? 0 : 1) }
    }
    return count ?? unicodeScalars.count
  }

  /// The characters; O(n).
  var scalars: [Unicode.Scalar] {
    let characters = utf8.withContiguousStorageIfAvailable { bytes -> [Unicode.Scalar]? in
      guard bytes.reduce(0, |) < 0x80 else { return nil }
      return Array(unsafeUninitializedCapacity: bytes.count) { buffer, initialized in
        for place in bytes.indices {
          buffer.initializeElement(at: place, to: Unicode.Scalar(bytes[place]))
        }
        initialized = bytes.count
      }
    }
    return (characters ?? nil) ?? Array(unicodeScalars)
  }
}

extension [UInt8] {
  /// Appends characters; O(n) in them, however much text there is already.
  mutating func append(utf8Of scalars: ArraySlice<Unicode.Scalar>) {
    let start = count
    scalars.withUnsafeBufferPointer { scalars in
      guard scalars.reduce(0, { $0 | $1.value }) < 0x80 else {
        for scalar in scalars { append(contentsOf: scalar.utf8) }
        return
      }
      append(contentsOf: repeatElement(0, count: scalars.count))
      withUnsafeMutableBufferPointer { bytes in
        for place in scalars.indices {
          bytes[start + place] = UInt8(truncatingIfNeeded: scalars[place].value)
        }
      }
    }
  }
}
