import Glibc
import HearthSync

/// Reports of a survey's findings.
extension FolderSurvey {
  mutating func report(_ problem: TransportProblem) {
    guard !problems.contains(problem) else { return }
    if problems.count < bounds.maximumProblems {
      problems.append(problem)
    } else {
      untoldProblems += 1
      untoldHidesData = untoldHidesData || problem.hidesData
    }
  }

  mutating func tell(_ fault: SystemFault, _ path: [FolderName]) {
    // The entry was removed between two steps, so treat it as never listed.
    if fault.number == ENOENT { return }
    report(
      fault.error(at: path.place, doing: "reading", isWriting: false)
        .problem(hidesData: true))
  }

  mutating func tellTooManyEntries(_ path: [FolderName]) {
    report(
      TransportProblem(
        place: path.place,
        fault: "the folder \(path.place) has more than \(bounds.maximumEntries) entries; the rest "
          + "was not read",
        remedy: "move away the files that are not Hearth's", hidesData: true))
  }

  mutating func tellTooManyNames(_ path: [FolderName], bound: Int) {
    report(
      TransportProblem(
        place: path.place,
        fault:
          "the folder \(path.place) has more than \(bound) names; the later ones were left out",
        remedy: "move away copies; if there are none, the author's next sync merges its segments",
        hidesData: true))
  }

  mutating func tellTooManyAuthors(_ path: [FolderName]) {
    report(
      TransportProblem(
        place: path.place,
        fault:
          "the folder \(path.place) has more than \(bounds.maximumDirectories) logs; some were "
          + "left out, those of unknown devices first",
        remedy:
          "delete the folders of devices that do not belong here; no record of the others is lost",
        hidesData: true))
  }

  mutating func tellTooManyCopies() {
    report(
      TransportProblem(
        place: ".",
        fault: "more than \(bounds.maximumCopies) files have names that a sync program changed; "
          + "the rest were left out",
        remedy: "delete the copies: the authors put back what is missing", hidesData: true))
  }

  mutating func tellNotDirectory(_ path: [FolderName]) {
    report(
      TransportProblem(
        place: path.place, fault: "\(path.place) is not a folder, and was not opened",
        remedy: "move it away and sync again: the authors put back what belongs there",
        hidesData: true))
  }

  mutating func tellRubbish(_ scan: FolderScan, _ path: [FolderName]) {
    for name in scan.spoiled.sorted() {
      let place = (path + [name]).place
      report(
        TransportProblem(
          place: place, fault: "\(place) has a name that was cut or lengthened",
          remedy: "rename it back or delete it: its author puts it back", hidesData: true))
    }
    guard let example = scan.foreignExample else { return }
    let place = (path + [example]).place
    report(
      TransportProblem(
        place: place,
        fault: scan.foreignCount == 1
          ? "\(place) is not Hearth's"
          : "\(place) and \(scan.foreignCount - 1) more beside it are not Hearth's",
        remedy: "Hearth ignores it; move it away to end this message", hidesData: false))
  }

  func verdicts<Name: Hashable>(
    _ blocked: [Blocked<Name>], found: [Name]
  ) -> [TransportProblem] {
    guard !blocked.isEmpty else { return [] }
    let found = Set(found)
    return blocked.prefix(bounds.maximumProblems).map {
      $0.error.problem(hidesData: !found.contains($0.name))
    }
  }

  func unique<Name: Equatable>(_ sorted: [Name]) -> [Name] {
    var result: [Name] = []
    result.reserveCapacity(sorted.count)
    for name in sorted where result.last != name { result.append(name) }
    return result
  }
}
