/// A fault that `hearth doctor` names.
struct DoctorFinding: Encodable {
  let topic: String
  let isDamage: Bool
  let text: String
  let remedy: String

  init(_ topic: String, isDamage: Bool = false, _ text: String, remedy: String) {
    self.topic = topic
    self.isDamage = isDamage
    self.text = text
    self.remedy = remedy
  }
}
