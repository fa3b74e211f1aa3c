import Hearth
import HearthCRDT

/// Clock findings in words.
enum ClockText {
  struct Document: Encodable {
    let device: String
    let name: String
    let kind: String
    let milliseconds: UInt64

    init(_ finding: ClockFinding) {
      device = finding.device.hex
      name = finding.deviceName
      kind = finding.kind.rawValue
      milliseconds = finding.milliseconds
    }
  }

  static func line(_ finding: ClockFinding) -> String {
    let name = "\(Style.safe(finding.deviceName)) (\(ShortID.text(finding.device)))"
    let span = Words.span(milliseconds: finding.milliseconds)
    return switch finding.kind {
    case .ahead: "the last change of \(name) is dated \(span) ahead of this device's clock"
    case .behind: "the last change of \(name) is dated \(span) before what that device had seen"
    }
  }
}
