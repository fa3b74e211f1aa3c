import Glibc

/// What nobody outside of the household may find in what leaves a device.
enum Secrecy {
  /// Every title and note of a plan holds this word.
  static let canary = "Canary"
  private static let forms: [[UInt8]] = {
    let plain = Array(canary.utf8)
    let hex = plain.flatMap { byte in
      Array(String(byte, radix: 16).utf8)
    }
    // UTF-16, in either order of bytes.
    let wide: [UInt8] = plain.flatMap { byte -> [UInt8] in [byte, 0] }
    // Base64 of the word at its three alignments, without the ends that depend on neighbours.
    return [
      plain, hex, Array(wide.dropLast()), Array("Q2FuYX".utf8), Array("NhbmFye".utf8),
      Array("DYW5hcn".utf8),
    ]
  }()

  static func check(_ bytes: [UInt8], in world: World, by device: SimDevice) throws {
    for form in forms where contains(bytes, form) {
      throw world.fail(.confidentiality, device, "published a file with a title in it")
    }
  }

  private static func contains(_ bytes: [UInt8], _ form: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { bytes in
      form.withUnsafeBytes { form in
        guard var start = bytes.baseAddress, let wanted = form.baseAddress else { return false }
        let end = start + bytes.count - form.count
        // The fast search of the C library for the first byte, then the rest.
        while start <= end, let found = memchr(start, Int32(form[0]), end - start + 1) {
          if memcmp(found, wanted, form.count) == 0 { return true }
          start = UnsafeRawPointer(found) + 1
        }
        return false
      }
    }
  }
}
