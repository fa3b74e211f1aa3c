import HearthCRDT
import HearthSync
import Household

/// What a scenario expects of the world, in its own words.
extension World {
  /// `expect points WHO N on DEVICE`, `expect title CHORE TEXT on DEVICE`,
  /// `expect converge`, `expect refused KIND AT-LEAST`.
  func expect(_ step: Step) throws {
    let words = step.words
    func wrong(_ text: String) -> Violation {
      fail(.expectation, nil, "\(step.line): \(text)")
    }
    guard let what = words.first else { throw wrong("expect what?") }
    let place = words.lastIndex(of: "on").flatMap { $0 + 1 < words.count ? words[$0 + 1] : nil }
    guard let device = place.flatMap({ device(named: $0) }) ?? devices.first else {
      throw wrong("there is no such device")
    }
    switch what {
    case "points":
      guard words.count >= 3, let person = commands.people[words[1]], let wanted = Int(words[2])
      else { throw wrong("expect points WHO N") }
      let total = try device.read(at: now) { try $0.points(of: person).total }
      guard total == wanted else { throw wrong("\(device.name) shows \(total)") }
    case "title":
      guard words.count >= 3, let chore = commands.chores[words[1]] else {
        throw wrong("expect title CHORE TEXT")
      }
      let title = try device.read(at: now) { try $0.chore(chore)?.title }
      guard title == words[2] else { throw wrong("\(device.name) shows \(title ?? "none")") }
    case "next":
      guard words.count >= 3, let chore = commands.chores[words[1]] else {
        throw wrong("expect next CHORE DATE")
      }
      let due = try device.read(at: now) { try $0.chore(chore)?.next?.due?.iso }
      guard (due ?? "none") == words[2] else {
        throw wrong("\(device.name) shows \(due ?? "none")")
      }
    case "equal":
      let states = devices.filter { $0.home != nil && $0.running != nil }
        .map { checker.frontiers(of: $0) }
      guard states.allSatisfy({ $0 == states.first }) else { throw wrong("they are not") }
    default: throw wrong("this cannot be expected")
    }
  }
}
