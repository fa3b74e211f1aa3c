/// A chore template; a missing field has no effect.
struct ChoreTemplate: Sendable {
  /// The type of its records.
  static let type = "chore-template"

  var title = ""
  var points = "0"
  var note = ""
  var tags: [String] = []
  private var every: String?
  private var dayOfMonth: String?
  private var isAfterCompletion = false
  private var at: String?

  init() {}

  /// Reads the item of a catalogue.
  init(_ item: JSONValue) {
    title = item["title"]?.text ?? ""
    points = item["points"]?.int.map(String.init) ?? "0"
    note = (item["steps"]?.list ?? []).compactMap(\.text).joined(separator: "\n")
    let words = [item["category"]?.text, item["room"]?.text].compactMap { $0 }
    for tag in (item["tags"]?.list ?? []).compactMap(\.text) + words where !tags.contains(tag) {
      tags.append(tag)
    }
    every = item["every"]?.text
    dayOfMonth = item["dayOfMonth"]?.text
    isAfterCompletion = item["afterCompletion"]?.bool ?? false
    at = item["at"]?.text
  }

  /// Returns the due options: as typed, or from the template if nothing about repetition was typed.
  func time(_ typed: ChoreTimeOptions) -> ChoreTimeOptions {
    guard typed.every == nil, typed.dayOfMonth == nil, !typed.afterCompletion else { return typed }
    var time = typed
    time.every = every
    time.dayOfMonth = dayOfMonth
    time.afterCompletion = isAfterCompletion
    time.at = typed.at ?? at
    // A time without a rule applies to one day.
    if every == nil, dayOfMonth == nil, at != nil { time.due = typed.due ?? "today" }
    return time
  }
}
