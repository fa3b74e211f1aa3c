import HearthCRDT
import HearthStore
import HearthSync
import Household

/// What happens to programs and to the things that lie about in folders.
extension World {
  func performOnProgram(_ step: Step, _ device: SimDevice) throws -> Bool {
    switch step.verb {
    case "paste": try paste(step, device)
    case "upgrade": try upgrade(step, device)
    case "rubbish": addRubbish(step, device)
    case "rot": try rot(step, device)
    default: return false
    }
    return true
  }

  /// Chores that come in one go, in transactions of so many: `paste NAME 5000 per=100`.
  ///
  /// What an earlier step of the same words brought in is passed over, as a person who pastes again
  /// after an interruption wants.
  func paste(_ step: Step, _ device: SimDevice) throws {
    guard step.words.count >= 2, let number = Int(step.words[1]), (1...20_000).contains(number)
    else { throw StepFailure("paste NAME NUMBER per=NUMBER") }
    let size = max(1, min(500, step.value("per").flatMap { Int($0) } ?? 100))
    try attempt(step, on: device) {
      var place = 0
      while place < number {
        let names = (place..<min(number, place + size)).map { "\(step.words[0])\($0)" }
        place += size
        if names.allSatisfy({ self.commands.chores[$0] != nil }) { continue }
        let before = try device.engine().zone(device.home ?? .zero).frontier
        var added: [RecordID] = []
        let written = try device.write(at: self.now) { state, builder, now in
          added = try names.map { name in
            try state.chores.add(
              ChoreDraft(title: "Canary \(name)", points: 1),
              milliseconds: now, in: &builder)
          }
        }
        for (name, id) in zip(names, added) { self.commands.chores[name] = id }
        self.ledger.acknowledged(written, by: device.index, step: step.line)
        self.trace.note(
          "write", at: self.now, device: device.index, written.version.dot.sequence,
          "writes \(names.count) chores")
        try self.checker.wrote(written, on: device, before: before, in: self)
      }
    }
  }

  /// An old program becomes a present one, and finds what it had kept unread.
  private func upgrade(_ step: Step, _ device: SimDevice) throws {
    guard device.isOldBuild, device.running != nil, device.home != nil else { return }
    try attempt(step, on: device) { try device.close() }
    device.isOldBuild = false
    SimProbe.upgraded.hit()
    try boot(device)
    try attempt(step, on: device) { try device.recordSelf(at: self.now) }
  }

  /// A carrier leaves a copy under another name, as it does where two wrote at once:
  /// `rubbish "name (conflict 2)"`.
  func addRubbish(_ step: Step, _ device: SimDevice) {
    device.folder.rubbish.append(
      TransportProblem(
        place: step.words.first ?? "a file (2)", fault: "this is no name that Hearth gives",
        remedy: "remove it", hidesData: false))
  }
}

extension Words {
  /// The stable code of an error, or its type's name where it has none.
  static func code(of error: any Error) -> String {
    switch error {
    case let error as HouseholdError: error.code.rawValue
    case let error as StoreError: error.code.rawValue
    case let error as SyncError: error.code.rawValue
    case let error as TransportError: error.code.rawValue
    default: "\(type(of: error))"
    }
  }
}
