import CQREncode

/// A QR code (ISO/IEC 18004): a square of dark and light modules that contains some text.
///
/// libqrencode makes it in byte mode with error correction L, the smallest possible code. A screen
/// is not smudged, and a smaller code fits more terminals and is readable from farther away.
struct QRCode: Equatable {
  /// The most bytes of one code: version 40 with level L.
  static let maximumBytes = 2953

  /// The number of modules per row and of rows, without the quiet zone: 21 to 177, four more with
  /// each version.
  let side: Int
  private let modules: [Bool]

  /// Encodes a text.
  ///
  /// - Throws: `CommandFailure` when the text is empty or longer than ``maximumBytes``.
  init(text: String) throws {
    let bytes = Array(text.utf8)
    guard 1...Self.maximumBytes ~= bytes.count else {
      throw CommandFailure(
        .failed,
        "a QR code can have 1 to \(Self.maximumBytes) bytes, but this text has \(bytes.count)",
        hint: "Use the text itself.")
    }
    guard
      let code = QRcode_encodeData(CInt(bytes.count), bytes, 0, QR_ECLEVEL_L)
    else {
      throw CommandFailure(
        .failed, "libqrencode created no QR code of \(bytes.count) bytes: out of memory",
        hint: "Use the text itself.")
    }
    defer { QRcode_free(code) }
    let side = Int(code.pointee.width)
    guard 21...177 ~= side, let data = code.pointee.data else {
      throw CommandFailure(.failed, "libqrencode created a QR code of \(side) modules a side")
    }
    self.side = side
    modules = (0..<(side * side)).map { data[$0] & 1 == 1 }
  }

  /// Whether a module is dark; everything outside the code is light.
  func isDark(row: Int, column: Int) -> Bool {
    guard 0..<side ~= row, 0..<side ~= column else { return false }
    return modules[row * side + column]
  }
}
