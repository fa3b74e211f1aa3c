import CSodium

/// Sets bytes to zero.
///
/// The compiler may not remove the write.
func zeroise(_ bytes: UnsafeMutableRawBufferPointer) {
  if let start = bytes.baseAddress { sodium_memzero(start, bytes.count) }
}

/// Sets an array to zero in place and empties it.
func zeroise(_ bytes: inout [UInt8]) {
  bytes.withUnsafeMutableBytes { zeroise($0) }
  bytes = []
}

/// Whether two byte strings are equal, in time that depends only on their length.
package func constantTimeEquals(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer)
  -> Bool
{
  guard left.count == right.count else { return false }
  guard let first = left.baseAddress, let second = right.baseAddress else { return true }
  return sodium_memcmp(first, second, left.count) == 0
}

/// Provides stack memory of `count` bytes while a closure runs, and zeroes it afterwards.
func withZeroisedMemory<Result>(
  _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws -> Result
) rethrows -> Result {
  try withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { memory in
    defer { zeroise(memory) }
    return try body(memory)
  }
}
