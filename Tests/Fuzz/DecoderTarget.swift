#if canImport(Glibc)
  import Glibc
#endif

// One entry point for libFuzzer, compiled into one module with HearthCRDT by `Tests/Fuzz/run`. The
// decoder is chosen by the variable HEARTH_FUZZ. A decoder may refuse with its typed error, or read
// what encodes to the same bytes; anything else ends the process, which the fuzzer reports.

private let target = getenv("HEARTH_FUZZ").map { String(cString: $0) } ?? "batch"

private let authors = AuthorTable(
  (0..<4).map {
    Author(device: DeviceID(high: 7, low: $0), incarnation: 1 << 32 | $0)
  })

/// The bytes of what was read; nil where reading has no inverse here.
private func recoded(_ bytes: [UInt8]) throws -> [UInt8]? {
  var writer = ByteWriter()
  switch target {
  case "change":
    try Change(decoding: bytes).encode(into: &writer)
  case "state":
    var reader = ByteReader(bytes)
    let state = try RecordState(from: &reader, authors: authors, values: .all)
    try reader.finish()
    state.encode(into: &writer, authors: authors, values: .all)
  case "event":
    var reader = ByteReader(bytes)
    let type = TypeID.event(1, keepsCause: true)
    let event = try EventState(from: &reader, authors: authors, type: type)
    try reader.finish()
    event.encode(into: &writer, authors: authors, type: type)
  default:
    var changes = try ChangeBatch.decode(bytes, incarnation: 1 << 32, first: 1)
    for place in changes.indices.dropFirst() { changes[place].previousHash = [] }
    return ChangeBatch.encode(changes)
  }
  return writer.bytes
}

/// What libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Array(UnsafeBufferPointer(start: start, count: count))
  do {
    if let again = try recoded(bytes), again != bytes {
      preconditionFailure("\(target): two spellings of one thing")
    }
  } catch is CodecError {
  } catch {
    preconditionFailure("\(target): \(error) is no CodecError")
  }
  return 0
}
