import Glibc
import HearthCRDT
import HearthCrypto
import HearthSync

// The entry point of libFuzzer, built by `Scripts/fuzz`. The decoder is chosen by the variable
// HEARTH_FUZZ. A decoder may refuse with a typed error, or read what encodes to the same bytes;
// anything else ends the process, which the fuzzer reports.

/// One decoder: reads bytes and gives back the canonical bytes of what it read, or nil where
/// reading has no inverse here.
typealias Decoder = @Sendable ([UInt8]) throws -> [UInt8]?

private let name = getenv("HEARTH_FUZZ").map { String(cString: $0) } ?? ""

private let decoder: Decoder = {
  do {
    if let decoder = try decoders[name]?() { return decoder }
  } catch {
    preconditionFailure("\(name): \(error)")
  }
  preconditionFailure("HEARTH_FUZZ is \"\(name)\", not one of \(decoders.keys.sorted())")
}()

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  do {
    if let again = try decoder(bytes), again != bytes {
      preconditionFailure("\(name): two spellings of one thing")
    }
  } catch is CodecError {
  } catch is CryptoError {
  } catch is SyncError {
  } catch is HearthError {
  } catch {
    preconditionFailure("\(name): \(error) is no typed error of Hearth")
  }
  return 0
}
