/// The page: one file that needs no network, by day and by night, on a screen and on a phone.
struct ReportPage {
  private let data: ReportData
  private let run: RunPicture?

  init(_ data: ReportData, _ run: RunPicture?) {
    self.data = data
    self.run = run
  }

  var html: String {
    """
    <!doctype html><html lang="en"><head><meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Hearth simulations</title><style>\(PageStyle.css)</style></head><body>
    <header><h1>Hearth simulations</h1>\(numbers)</header>
    <main>\(failures)\(runParts)\(probeParts)\(mutantParts)</main></body></html>

    """
  }

  // MARK: Numbers

  private var numbers: String {
    let runs = data.outcomes
    var tiles: [(String, String, String)] = []
    if !runs.isEmpty {
      let failed = runs.filter { $0.failure != nil }.count
      let cpu = max(0.001, runs.reduce(0) { $0 + $1.cpuSeconds })
      let events = runs.reduce(0) { $0 + $1.events }
      let days = runs.reduce(0) { $0 + $1.deviceDays }
      tiles += [
        ("runs", Markup.number(runs.count), ""),
        ("failures", Markup.number(failed), failed > 0 ? "bad" : "good"),
        ("writes told done", Markup.number(runs.reduce(0) { $0 + $1.acknowledged }), ""),
        ("syncs", Markup.number(runs.reduce(0) { $0 + $1.syncs }), ""),
        ("states compared", Markup.number(runs.reduce(0) { $0 + $1.digestsCompared }), ""),
        ("device-days", Markup.number(Int(days)), ""),
        ("events a second", Markup.number(Int(Double(events) / cpu)), ""),
        ("device-days a core-minute", Markup.number(Int(days / cpu * 60)), ""),
      ]
      let hit = data.probes.filter { $0.count > 0 }.count
      tiles.append(("probes hit", "\(hit) of \(data.probes.count)", ""))
    }
    if !data.mutants.isEmpty {
      let killed = data.mutants.filter { $0.oracle != nil }
      let counts = killed.map(\.seeds).sorted()
      let all = killed.count == data.mutants.count
      tiles.append(
        ("seeded bugs caught", "\(killed.count) of \(data.mutants.count)", all ? "good" : "bad"))
      if !counts.isEmpty {
        tiles.append(("median seeds to catch", "\(counts[counts.count / 2])", ""))
      }
    }
    return "<dl class=\"tiles\">"
      + tiles.map { "<div class=\"\($0.2)\"><dt>\($0.0)</dt><dd>\($0.1)</dd></div>" }.joined()
      + "</dl>"
  }

  private var failures: String {
    data.outcomes.isEmpty
      ? "" : "<section><h2>What failed</h2>\(Tables.failures(data.outcomes))</section>"
  }

  // MARK: One run

  private var runParts: String {
    guard let run else { return "" }
    let diagram = SpaceTime(run)
    let left =
      diagram.omitted > 0
      ? "<p class=\"key\">The last \(Markup.number(110)) things that happened; "
        + "\(Markup.number(diagram.omitted)) earlier ones are in the strips above only.</p>" : ""
    let verdict =
      run.outcome.failure.map { "<p class=\"verdict bad\">\(Markup.text($0))</p>" }
      ?? "<p class=\"verdict good\">Everything held in this run.</p>"
    let purpose = run.plan.purpose.map { "<p>\(Markup.text($0))</p>" } ?? ""
    return """
      <section><h2>One run: \(Markup.text(run.plan.name))</h2>\(purpose)\(verdict)
      <h3>The whole run</h3>\(Overview(run).html)\(overviewKey)
      <h3>\(run.outcome.failure == nil ? "How it ended" : "What led to it")</h3>\(left)\(diagramKey)
      <div class="wide">\(diagram.svg)</div>
      <h3>Who knew what at the end</h3>
      <p class="key">How many changes of each author each device had; red is behind. Nobody else has
      what a device wrote that was added at the very end, to see what a newcomer gets.</p>
      \(Tables.knowledge(run))</section>
      """
  }

  private var overviewKey: String {
    """
    <p class="key"><span><i class="k t-write"></i> a write</span>
    <span><i class="k t-off"></i> power lost, killed or switched off</span>
    <span><i class="k offspan"></i> off</span>
    <span><i class="k t-refused"></i> refused</span>
    <span><i class="k cut"></i> cut: above nothing comes in, below nothing goes out</span>
    <span><i class="k ahead"></i> clock ahead</span>
    <span><i class="k behind"></i> clock behind</span></p>
    """
  }

  private var diagramKey: String {
    """
    <p class="key">Time runs downwards; each row is one event, so idle time takes no room.
    <span><i class="k dot"></i> a write</span> <span><i class="k ring"></i> a sync with news</span>
    <span><b class="x crash">×</b> goes off</span> <span><b class="x boot">▲</b> starts</span>
    <span><b class="x refusal">×</b> refused</span>
    <span><b class="x">→</b> a file arrives</span>
    <span><i class="k cut"></i> cut</span> <span><i class="k ahead"></i> clock ahead</span>
    <span><i class="k behind"></i> clock behind</span>
    <span><i class="k loss"></i> lost on the way</span> <span>dashed line: a new day</span>
    <span class="phone">The words stand to the right of the lanes.</span></p>
    """
  }

  // MARK: Many runs

  private var probeParts: String {
    data.outcomes.isEmpty
      ? ""
      : """
      <section><h2>Probes</h2><p class="key">Situations that runs must come to, and how often they
      did. What is red never happened: nothing is known about it.</p>\(Tables.probes(data.probes))
      </section>
      """
  }

  private var mutantParts: String {
    data.mutants.isEmpty
      ? ""
      : """
      <section><h2>Seeded bugs</h2><p class="key">Which check caught each bug that was put in on
      purpose, and after how many seeds. A row in red survived.</p>\(Tables.mutants(data.mutants))
      </section>
      """
  }
}
