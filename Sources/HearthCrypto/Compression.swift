import CZstd
import Synchronization

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
      let written = DecompressionContexts.shared.withContext { context in
        ZSTD_decompressDCtx(
          context, buffer.baseAddress, count, frame.baseAddress, frame.count)
      }
      guard let written, ZSTD_isError(written) == 0, written == count else {
        throw CryptoError(.compressionFailed, "The compressed data cannot be decompressed.")
      }
      initialised = written
    }
  }
}

/// Decompression contexts of zstd that wait for their next use.
///
/// A new context makes zstd ask the processor for its features, which takes a virtual machine some
/// 30 µs: longer than to decompress a small segment. A context keeps no state between two frames.
private final class DecompressionContexts: Sendable {
  static let shared = DecompressionContexts()
  /// The most contexts that are kept; each has some 100 KiB.
  private static let maximumCount = 4

  /// The addresses of the free contexts.
  private let free = Mutex<[UInt]>([])

  /// Runs a body with a context that nobody else uses; nil if there is no memory for one.
  func withContext<Result>(_ body: (OpaquePointer) -> Result) -> Result? {
    let address = free.withLock { $0.popLast() }
    guard let context = address.flatMap({ OpaquePointer(bitPattern: $0) }) ?? ZSTD_createDCtx()
    else { return nil }
    let result = body(context)
    let isKept = free.withLock { free in
      guard free.count < DecompressionContexts.maximumCount else { return false }
      free.append(UInt(bitPattern: context))
      return true
    }
    if !isKept { ZSTD_freeDCtx(context) }
    return result
  }
}
