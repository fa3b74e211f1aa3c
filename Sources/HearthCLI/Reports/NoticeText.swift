import Hearth
import HearthCRDT
import HearthSync

/// Notices in words.
enum NoticeText {
  struct Document: Encodable {
    let at: String
    let kind: String
    let device: String?
    let zone: String?
    let text: String

    init(_ notice: Notice) {
      at = MomentText.iso(notice.milliseconds)
      kind = notice.kind.rawValue
      device = notice.device?.hex
      zone = notice.zone?.hex
      text = notice.text
    }
  }

  static func line(_ notice: Notice, _ moment: MomentText) -> String {
    "\(moment.text(notice.milliseconds)) \(Style.safe(notice.text))"
  }
}
