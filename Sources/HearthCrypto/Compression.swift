import CZstd

/// zstd with bounds: one frame, a stated size, and no allocation before the checks.
enum Compression {
  /// The compression level: a good size at some 200 MB/s.
  static let level: CInt = 3

  /// Compresses bytes; returns nil if the result would not be smaller than `limit`.
  static func compress(_ bytes: UnsafeRawBufferPointer, limit: Int) -> [UInt8]? {
    guard limit > 0 else { return nil }
    let result = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      let written = ZSTD_compress(
        buffer.baseAddress, buffer.count, bytes.baseAddress, bytes.count, level)
      count = ZSTD_isError(written) == 0 ? written : 0
    }
    return result.isEmpty ? nil : result
  }

  /// Decompresses exactly one frame into exactly `count` bytes.
  ///
  /// The caller has bounded `count`. The frame must state the same size, so a decompression bomb is
  /// rejected before any memory is allocated for it.
  /// - Throws: `malformed`, `compressionFailed`.
  static func decompress(_ frame: UnsafeRawBufferPointer, count: Int) throws -> [UInt8] {
    guard ZSTD_getFrameContentSize(frame.baseAddress, frame.count) == UInt64(count),
      ZSTD_findFrameCompressedSize(frame.baseAddress, frame.count) == frame.count
    else {
      throw CryptoError(
        .malformed, "The compressed data is not one zstd frame of the stated \(count) bytes.")
    }
    return try [UInt8](unsafeUninitializedCapacity: count) { buffer, initialised in
      let written = ZSTD_decompress(
        buffer.baseAddress, count, frame.baseAddress, frame.count)
      guard ZSTD_isError(written) == 0, written == count else {
        throw CryptoError(.compressionFailed, "The compressed data cannot be decompressed.")
      }
      initialised = written
    }
  }
}
