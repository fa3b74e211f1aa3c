import Foundation

/// What a report is made of: results of runs, of mutants, and one run in every detail.
struct ReportData: Codable {
  /// One line of the matrix of seeded bugs.
  struct MutantRow: Codable {
    let mutant: String
    let oracle: String?
    let seeds: Int
    let failure: String?
  }

  var outcomes: [Simulator.Outcome] = []
  var mutants: [MutantRow] = []

  /// Adds a file that `run --json` or `mutants --json` wrote.
  mutating func read(_ path: String) throws {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let decoder = JSONDecoder()
    if let rows = try? decoder.decode([MutantRow].self, from: bytes) {
      mutants += rows
    } else {
      outcomes += try decoder.decode([Simulator.Outcome].self, from: bytes)
    }
  }

  /// How often each probe was hit in all runs, those never hit too, by name.
  var probes: [(name: String, count: Int)] {
    var sums = Dictionary(uniqueKeysWithValues: Simulator.probes.map { ($0, 0) })
    for outcome in outcomes { sums.merge(outcome.probes) { $0 + $1 } }
    return sums.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}

extension Simulator {
  /// Writes `report.json` and `report.html` into a folder.
  ///
  /// - Parameters:
  ///   - results: files that `run --json` or `mutants --json` wrote.
  ///   - source: the run that is drawn; the first that failed if nil, else the first there is.
  ///   - mode: of the seeds in the results.
  /// - Returns: the page's path.
  package static func report(
    results: [String], source: Source?, mode: String, into folder: String
  ) throws -> String {
    var data = ReportData()
    for path in results { try data.read(path) }
    var shown = source
    if shown == nil, let run = data.outcomes.first(where: { $0.failure != nil }) {
      shown = .seed(run.seed, mode: mode)
    }
    if shown == nil, let run = data.outcomes.first { shown = .seed(run.seed, mode: mode) }
    var picture: RunPicture?
    if let shown {
      let plan = try plan(shown)
      let (outcome, result) = runKeepingResult(plan, keepsLines: true)
      picture = RunPicture(plan, outcome, result)
    }
    let directory = URL(fileURLWithPath: folder)
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try encoder.encode(data).write(to: directory.appendingPathComponent("report.json"))
    let page = directory.appendingPathComponent("report.html")
    try Data(ReportPage(data, picture).html.utf8).write(to: page)
    return page.path
  }
}
