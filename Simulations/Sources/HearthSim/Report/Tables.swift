import Foundation

/// The tables of a report.
enum Tables {
  /// Who knows what: how many changes of each author each device has.
  static func knowledge(_ run: RunPicture) -> String {
    let logs = run.result.knowledge.logs
    guard !logs.isEmpty else { return "" }
    var out = "<div class=\"wide\"><table class=\"grid\"><tr><th>written by</th>"
    for name in run.devices { out += "<th>\(Markup.text(Markup.short(name, 8)))</th>" }
    out += "</tr>"
    for log in logs {
      let most = log.known.compactMap { $0 }.max() ?? 0
      out += "<tr><th>\(Markup.text(log.name))</th>"
      for known in log.known {
        guard let known else {
          out += "<td class=\"none\">off</td>"
          continue
        }
        let kind = known == most ? "all" : known == 0 ? "nothing" : "part"
        let lacks = known == most ? "" : "<small> −\(most - known)</small>"
        out += "<td class=\"\(kind)\">\(known)\(lacks)</td>"
      }
      out += "</tr>"
    }
    return out + "</table></div>"
  }

  /// A tile for each probe, darker where it was hit more often, red where never.
  static func probes(_ probes: [(name: String, count: Int)]) -> String {
    var groups: [(String, [(name: String, count: Int)])] = []
    for probe in probes {
      let group = probe.name.split(separator: ".").first.map(String.init) ?? ""
      if groups.last?.0 == group {
        groups[groups.count - 1].1.append(probe)
      } else {
        groups.append((group, [probe]))
      }
    }
    return groups.map { group, members in
      let tiles = members.map { probe in
        let name = probe.name.split(separator: ".").dropFirst().joined(separator: ".")
        let heat = probe.count == 0 ? "h0" : "h\(min(5, 1 + Int(log10(Double(probe.count)))))"
        let count = probe.count == 0 ? "never" : Markup.number(probe.count)
        return "<li class=\"\(heat)\"><span>\(Markup.text(name))</span><b>\(count)</b></li>"
      }
      return "<h3>\(Markup.text(group))</h3><ul class=\"heat\">\(tiles.joined())</ul>"
    }.joined()
  }

  /// Seeded bugs against the checks that caught them, with how many seeds it took.
  static func mutants(_ rows: [ReportData.MutantRow]) -> String {
    let caught = Set(rows.compactMap(\.oracle))
    let oracles =
      Simulator.oracles.filter { caught.contains($0) }
      + caught.subtracting(Simulator.oracles).sorted()
    var out = "<div class=\"wide\"><table class=\"grid kill\"><tr><th>seeded bug</th>"
    for oracle in oracles {
      out += "<th title=\"\(Markup.text(words(oracle)))\">\(oracle)</th>"
    }
    out += "</tr>"
    for row in rows {
      let isAlive = row.oracle == nil
      out += "<tr\(isAlive ? " class=\"alive\"" : "")><th>\(Markup.text(row.mutant))</th>"
      if isAlive {
        out += "<td colspan=\"\(max(1, oracles.count))\">survives \(row.seeds) seeds</td>"
      } else {
        for oracle in oracles {
          guard oracle == row.oracle else {
            out += "<td></td>"
            continue
          }
          let heat = row.seeds <= 3 ? "h5" : row.seeds <= 20 ? "h4" : row.seeds <= 100 ? "h2" : "h1"
          out +=
            "<td class=\"\(heat)\" title=\"\(Markup.text(row.failure ?? ""))\">\(row.seeds)</td>"
        }
      }
      out += "</tr>"
    }
    return out + "</table></div>" + legend(oracles)
  }

  private static func legend(_ oracles: [String]) -> String {
    let items = oracles.map { "<span><b>\($0)</b> \(Markup.text(words($0)))</span>" }
    return "<p class=\"key\">\(items.joined(separator: " "))</p>"
  }

  /// What a check watches, in words.
  static func words(_ oracle: String) -> String {
    guard let known = Oracle(rawValue: oracle) else { return oracle }
    // `singleAward` → `single award`.
    return "\(known)".reduce(into: "") { out, letter in
      out += letter.isUppercase ? " \(letter.lowercased())" : String(letter)
    }
  }

  /// The runs that failed.
  static func failures(_ outcomes: [Simulator.Outcome], limit: Int = 30) -> String {
    let failed = outcomes.filter { $0.failure != nil }
    guard !failed.isEmpty else { return "<p class=\"good\">Every run held.</p>" }
    let rows = failed.prefix(limit).map { run in
      "<li><b>\(Markup.text(run.name))</b> \(Markup.text(run.failure ?? ""))</li>"
    }
    let more = failed.count > limit ? "<li>and \(failed.count - limit) more</li>" : ""
    return "<ol class=\"failures\">\(rows.joined())\(more)</ol>"
  }
}
