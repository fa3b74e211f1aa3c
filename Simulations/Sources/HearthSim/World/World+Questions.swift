import HearthCRDT
import HearthStore
import HearthSync
import Household

/// What can be asked of one device; nil where the question is another's.
extension World {
  // MARK: About a person

  /// `points|week|month|streak WHO`, `badge WHO KEY`, `person WHO` for the name shown.
  func askPerson(_ what: String, _ subject: [String], _ device: SimDevice) throws -> String? {
    guard ["points", "week", "month", "streak", "badge", "person"].contains(what),
      let person = subject.first.flatMap({ commands.people[$0] })
    else { return nil }
    return try device.read(at: now) { state in
      switch what {
      case "points": "\(try state.totals.points(of: person).total)"
      case "week": "\(try state.totals.points(of: person).week)"
      case "month": "\(try state.totals.points(of: person).month)"
      case "streak": "\(try state.achievements.streak(of: person))"
      case "person": try state.people.all().first { $0.id == person }?.name ?? "-"
      default:
        try state.achievements.badges(of: person).first { $0.badge.key == subject.last }?.earnedOn?
          .iso ?? "-"
      }
    }
  }

  // MARK: About a chore

  /// `title|note|price|next|tags|archived|conflicts|assignee|due|missed CHORE`,
  /// `entries CHORE KIND`, `credited CHORE`, `days CHORE`.
  func askChore(_ what: String, _ subject: [String], _ device: SimDevice) throws -> String? {
    guard let chore = subject.first.flatMap({ commands.chores[$0] }) else { return nil }
    return try device.read(at: now) { state in
      if let answer = try askLedger(what, subject, chore, state) { return answer }
      guard let view = try state.chores.chore(chore) else { return "-" }
      switch what {
      case "title": return view.title
      case "note": return view.note.isEmpty ? "-" : view.note
      case "price": return "\(view.points)"
      case "next": return view.next?.due?.iso ?? "-"
      case "tags": return view.tags.isEmpty ? "-" : view.tags.sorted().joined(separator: ",")
      case "archived": return view.isArchived ? "yes" : "no"
      case "conflicts": return "\(view.concurrentValues)"
      case "assignee": return name(of: view.next?.assignee)
      case "missed": return "\(view.next?.missedBefore ?? 0)"
      case "due":
        let ahead = try device.today(at: now).adding(days: 40) ?? .last
        let open = try state.occurrences.due(through: ahead).filter { $0.chore == chore }
        return open.isEmpty ? "-" : open.map { $0.due?.iso ?? "any" }.joined(separator: ",")
      default: return nil
      }
    }
  }

  private func askLedger(
    _ what: String, _ subject: [String], _ chore: RecordID, _ state: HouseholdState
  ) throws -> String? {
    let entries = try state.ledger.entries(of: nil).filter { $0.chore == chore }
    switch what {
    case "entries": return "\(entries.filter { $0.kind.rawValue == subject.last }.count)"
    case "credited":
      let names = entries.filter { $0.kind == .credited }.map { name(of: $0.person) }.sorted()
      return names.isEmpty ? "-" : names.joined(separator: ",")
    case "days":
      let days = entries.filter { $0.kind == .credited }.map(\.day.iso).sorted()
      return days.isEmpty ? "-" : days.joined(separator: ",")
    default: return nil
    }
  }

  private func name(of person: PersonID?) -> String {
    guard let person else { return "-" }
    // Copies of a device share its person; the first of them is meant.
    if let device = devices.first(where: { $0.person == person }) { return device.name }
    // Somebody who has gone has no device here.
    return commands.people.sorted { $0.key < $1.key }.first { $0.value == person }?.key ?? "-"
  }

  // MARK: About a device

  /// `setting KEY`, `chores`, `people`, `files`, `changes`, `waiting`, `lives`, `notices KIND`,
  /// `refused CODE`, `running`, `member`, `received`, `published`.
  func askDevice(_ what: String, _ subject: [String], _ device: SimDevice) throws -> String? {
    switch what {
    case "running": return device.running == nil ? "no" : "yes"
    case "refused": return "\(refused["\(device.name)/\(subject.first ?? "")"] ?? 0)"
    case "files": return "\(device.folder.names.count)"
    case "received", "published":
      let report = try device.sync(at: now)
      try checker.synced(device, report, before: [:], in: self)
      return "\(what == "received" ? report.received : report.published)"
    case "setting", "chores", "people": return try askBook(what, subject, device)
    case "member": return try device.isMember() ? "yes" : "no"
    default: return try askEngine(what, subject, device)
    }
  }

  private func askBook(_ what: String, _ subject: [String], _ device: SimDevice) throws -> String? {
    try device.read(at: now) { state in
      switch what {
      case "setting": try state.storedSettings.value(of: subject.first ?? "") ?? "-"
      case "chores": "\(try state.chores.all(includingArchived: false).count)"
      default: "\(try state.people.all().count)"
      }
    }
  }

  private func askEngine(
    _ what: String, _ subject: [String], _ device: SimDevice
  ) throws -> String? {
    let engine = try device.engine()
    switch what {
    case "changes":
      guard let home = device.home else { return "0" }
      return "\(try engine.zone(home).heads.reduce(0) { $0 + $1.sequence })"
    case "waiting":
      let pending = engine.store.pending
      return "\(try engine.zones.reduce(0) { $0 + (try pending.segments(in: $1.id).count) })"
    case "lives":
      let lives = engine.zones.flatMap { $0.heads.map(\.author) }
        .filter { $0.device == engine.device }
      return
        "\(Set(lives + [Author(device: engine.device, incarnation: engine.incarnation)]).count)"
    case "notices":
      return "\(try engine.store.notices.all().filter { $0.kind.rawValue == subject.first }.count)"
    default: return nil
    }
  }
}
