import Foundation
import HearthRelayCore

/// Words on standard output.
enum Say {
  /// A count with its noun.
  static func count(_ number: UInt64, _ noun: String, _ several: String? = nil) -> String {
    "\(number) \(number == 1 ? noun : several ?? noun + "s")"
  }

  static func line(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
  }
}
