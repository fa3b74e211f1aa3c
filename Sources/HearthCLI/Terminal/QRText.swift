import ArgumentParser
import Hearth

/// QR codes on the terminal, between the remarks.
enum QRText {
  /// Shows a code, or reports that the terminal has no room; the text itself is always printed.
  static func show(_ text: String) {
    do {
      let lines = try TerminalQR(code: try QRCode(text: text)).lines(width: StandardStream.width)
      for line in lines { Output.note(line) }
    } catch let failure as CommandFailure {
      Output.note("\(failure.message): make the window wider, or use the text itself")
    } catch {
      Output.note("there is no QR code: \(error)")
    }
  }
}
