import Foundation
import Testing

@testable import HearthCLI

@Suite("QR codes on a terminal")
struct TerminalQRTests {
  private let link =
    "hearth://join/v1/000g40r40m30e209185gr38e1wec/5xqp2wkfehm2ytk5dxpq2vh65xtj0tbndx"

  /// The modules of printed lines, quiet zone included; nil where a character does not belong.
  private func modules(_ lines: [String], _ qr: TerminalQR) -> [[Bool]]? {
    let ink = qr.ground == .light
    var rows = [[Bool]]()
    for line in lines {
      let characters = Array(line)
      switch qr.style {
      case .ascii:
        var row = [Bool]()
        for place in stride(from: 0, to: characters.count, by: 2) {
          let pair = String(characters[place..<min(place + 2, characters.count)])
          guard pair == "##" || pair == "  " else { return nil }
          row.append((pair == "##") == ink)
        }
        rows.append(row)
      case .blocks:
        guard characters.allSatisfy({ "█▀▄ ".contains($0) }) else { return nil }
        rows.append(characters.map { ("█▀".contains($0)) == ink })
        rows.append(characters.map { ("█▄".contains($0)) == ink })
      }
    }
    // An odd number of rows leaves half a line of nothing.
    return Array(rows.prefix(qr.code.side + 2 * TerminalQR.quietModules))
  }

  private func forms(_ code: QRCode) -> [TerminalQR] {
    TerminalQR.Style.allCases.flatMap { style in
      TerminalQR.Ground.allCases.map { TerminalQR(code: code, style: style, ground: $0) }
    }
  }

  @Test("Every form shows every module, with four light ones on each side")
  func faithful() throws {
    for text in ["a", link, String(repeating: "x", count: 700)] {
      let code = try QRCode(text: text)
      for qr in forms(code) {
        let lines = try qr.lines(width: 0)
        #expect(lines.count == qr.lineCount && lines.allSatisfy { $0.count == qr.columns })
        let shown = try #require(modules(lines, qr))
        let quiet = TerminalQR.quietModules
        #expect(shown.count == code.side + 2 * quiet)
        for (row, cells) in shown.enumerated() {
          for (column, isDark) in cells.enumerated() {
            #expect(isDark == code.isDark(row: row - quiet, column: column - quiet))
          }
        }
        #expect(shown.prefix(quiet).joined().allSatisfy { !$0 })
        #expect(shown.suffix(quiet).joined().allSatisfy { !$0 })
        #expect(shown.allSatisfy { !($0.prefix(quiet) + $0.suffix(quiet)).contains(true) })
      }
    }
  }

  @Test("The code has the three corners, the dotted lines and the two equal copies of its format")
  func structure() throws {
    let finder = ["#######", "#     #", "# ### #", "# ### #", "# ### #", "#     #", "#######"]
    for count in [1, 60, 200, 1000, 2953] {
      let code = try QRCode(text: String(repeating: "h", count: count))
      #expect((code.side - 17).isMultiple(of: 4) && 21...177 ~= code.side)
      let far = code.side - 7
      for (top, left) in [(0, 0), (0, far), (far, 0)] {
        let corner = (0..<7).map { row in
          String(
            (0..<7).map { code.isDark(row: top + row, column: left + $0) ? "#" : " " as Character })
        }
        #expect(corner == finder, "\(count) bytes, corner at \(top), \(left)")
      }
      for place in 8..<(code.side - 8) {
        #expect(code.isDark(row: 6, column: place) == place.isMultiple(of: 2))
        #expect(code.isDark(row: place, column: 6) == place.isMultiple(of: 2))
      }
      #expect(code.isDark(row: code.side - 8, column: 8), "the module that is always dark")
      let (first, second) = formats(code)
      #expect(first == second && remainder(first ^ 0b101_0100_0001_0010) == 0)
      #expect((first ^ 0b101_0100_0001_0010) >> 13 == 0b01, "level L")
    }
  }

  /// The two copies of the fifteen bits of format, most significant first.
  private func formats(_ code: QRCode) -> (Int, Int) {
    let last = code.side - 1
    let first =
      [0, 1, 2, 3, 4, 5, 7, 8].map { (8, $0) } + [7, 5, 4, 3, 2, 1, 0].map { ($0, 8) }
    let second = (0..<7).map { (last - $0, 8) } + (0..<8).map { (8, last - 7 + $0) }
    func bits(_ places: [(Int, Int)]) -> Int {
      places.reduce(0) { $0 << 1 | (code.isDark(row: $1.0, column: $1.1) ? 1 : 0) }
    }
    return (bits(first), bits(second))
  }

  /// The remainder of the BCH code that protects the format.
  private func remainder(_ bits: Int) -> Int {
    var rest = bits
    for power in stride(from: 14, through: 10, by: -1) where rest >> power & 1 == 1 {
      rest ^= 0b101_0011_0111 << (power - 10)
    }
    return rest
  }

  @Test("A terminal that is too narrow is told so, to the column")
  func narrow() throws {
    for qr in forms(try QRCode(text: link)) {
      #expect(try qr.lines(width: qr.columns) == qr.lines(width: 0))
      let failure = #expect(throws: CommandFailure.self) {
        try qr.lines(width: qr.columns - 1)
      }
      #expect(failure?.message.contains("needs \(qr.columns) columns") ?? false)
      #expect(failure?.message.contains("has \(qr.columns - 1)") ?? false)
    }
    let blocks = TerminalQR(code: try QRCode(text: link))
    #expect(blocks.columns <= 80 && blocks.lineCount <= 24, "a link fits an ordinary terminal")
  }

  @Test("Texts of 1 to 2,953 bytes have a code")
  func bounds() throws {
    #expect(try QRCode(text: String(repeating: "x", count: 2953)).side == 177)
    for text in ["", String(repeating: "x", count: 2954)] {
      #expect(throws: CommandFailure.self) { try QRCode(text: text) }
    }
  }

  @Test("What is printed is read by zbar as it was written")
  func scanned() throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("hearth-qr-\(ProcessInfo.processInfo.globallyUniqueString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for text in [
      "12345 67890 12345 67890 12345 67890", link, String(repeating: "hearth ", count: 60),
    ] {
      for qr in forms(try QRCode(text: text)) {
        let shown = try #require(modules(try qr.lines(width: 0), qr))
        let image = folder.appendingPathComponent("code.pbm")
        try bitmap(shown, scale: 6).write(to: image)
        guard let read = try zbar(image) else { return }
        #expect(read == text)
      }
    }
  }

  /// A portable bitmap, each module so many pixels wide.
  private func bitmap(_ modules: [[Bool]], scale: Int) -> Data {
    var text = "P1\n\(modules[0].count * scale) \(modules.count * scale)\n"
    for row in modules {
      let line = row.map { String(repeating: $0 ? "1 " : "0 ", count: scale) }.joined()
      text += String(repeating: line + "\n", count: scale)
    }
    return Data(text.utf8)
  }

  /// What zbarimg reads; nil, with a line, where it is not installed.
  private func zbar(_ image: URL) throws -> String? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["zbarimg", "--quiet", "--raw", image.path]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus != 127 else {
      print("zbarimg (Debian: zbar-tools) is not installed; no QR code was scanned")
      return nil
    }
    #expect(process.terminationStatus == 0, "zbarimg found no code")
    return String(decoding: data.dropLast(), as: UTF8.self)
  }
}
