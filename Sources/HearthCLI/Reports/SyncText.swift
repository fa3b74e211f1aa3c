import ArgumentParser
import Hearth
import HearthSync

/// The text of a sync round's result.
enum SyncText {
  struct Document: Encodable {
    struct Problem: Encodable {
      let place: String
      let fault: String
      let remedy: String
      let hidesData: Bool
    }
    struct Item: Encodable {
      let path: String
      let received: Int
      let published: Int
      let publishedBytes: Int
      /// The number of repaired files.
      let restored: Int
      /// The names of the first of them.
      let mended: [String]
      /// The number of damaged files that stay damaged.
      let unmended: Int
      /// Whether it was seen rolled back to an older state.
      let setBack: Bool
      let waiting: Int
      let failure: String?
      let problems: [Problem]
    }
    let transports: [Item]
    let received: Int
    let published: Int
    /// The checked catalogues; absent if none was checked.
    let catalogues: [PublicText.Followed]?

    init(_ report: SyncReport, catalogues: [CatalogueRefresh] = []) {
      self.catalogues =
        catalogues.isEmpty ? nil : catalogues.map { PublicText.Followed($0.kept) }
      received = report.received
      published = report.published
      transports = report.transports.map { transport in
        Item(
          path: transport.setting, received: transport.received, published: transport.published,
          publishedBytes: transport.publishedBytes, restored: transport.restored,
          mended: transport.mended, unmended: transport.unmended,
          setBack: transport.isSetBack, waiting: transport.waiting, failure: transport.failure,
          problems: transport.problems.map {
            Problem(
              place: $0.place, fault: $0.fault, remedy: $0.remedy, hidesData: $0.hidesData)
          })
      }
    }
  }

  /// The result of a check for newer catalogues.
  struct Catalogues {
    var refreshed: [CatalogueRefresh] = []
    var news: [String] = []
    var warnings: [String] = []
  }

  /// Checks for newer catalogues; every failure is a warning.
  static func refresh(_ node: Node) async -> Catalogues {
    var result = Catalogues()
    do {
      result.refreshed = try await node.catalogues.refresh()
      (result.news, result.warnings) = PublicText.lines(result.refreshed)
    } catch is CancellationError {
      // Whoever stopped it needs no warning.
    } catch {
      result.warnings = ["hearth: warning: \(Style.safe("\(error)"))"]
    }
    return result
  }

  /// One transport in one line.
  static func line(_ report: TransportReport) -> String {
    guard !report.isRefusedWhole else {
      return "\(report.setting): refuses this device, nothing was published or received"
    }
    var parts = [
      report.received == 0 ? "nothing new" : "received \(Words.count(report.received, "change"))",
      report.published == 0
        ? "nothing to publish"
        : "published \(Words.count(report.published, "segment")) (\(report.publishedBytes) bytes)",
    ]
    if report.restored > 0 {
      parts.append("repaired \(Words.count(report.restored, "damaged file"))")
    }
    if report.waiting > 0 {
      parts.append("\(Words.count(report.waiting, "segment")) waiting for others")
    }
    if !report.refusals.isEmpty { parts.append("and a part was refused") }
    return "\(report.setting): " + parts.joined(separator: ", ")
  }

  /// The most repairs or problems that are listed for a transport.
  private static let namedCount = 20

  /// The repairs on a transport, one line each.
  static func mended(_ report: TransportReport) -> [String] {
    let named = report.mended.prefix(namedCount)
    let rest = report.restored - named.count
    return named.map { "  repaired: \(Style.safe($0))" }
      + (rest > 0 ? ["  and \(rest) more"] : [])
  }

  /// Reports failures and problems on standard error, and ends with their exit code.
  ///
  /// - Parameters:
  ///   - isQuiet: omits reports that do not change the exit code.
  ///   - isWhole: whether every file was checked, so that remaining damage also changes the exit
  ///     code.
  static func check(_ report: SyncReport, isQuiet: Bool, isWhole: Bool = false) throws {
    tellProblems(report, isQuiet: isQuiet)
    if report.transports.contains(where: { $0.failure != nil }) {
      throw ExitCode(ExitStatus.offline.rawValue)
    }
    if report.transports.contains(where: { $0.isPartial || isWhole && $0.unmended > 0 }) {
      throw ExitCode(ExitStatus.partial.rawValue)
    }
  }

  static func tellProblems(_ report: SyncReport, isQuiet: Bool) {
    for transport in report.transports {
      if let failure = transport.failure {
        Output.note("hearth: error: \(Style.safe(failure))")
      }
      if transport.lost > 0, !isQuiet {
        Output.note("hearth: warning: \(Style.safe(RollbackWarning.text(of: transport)))")
      }
      let told = transport.problems.filter {
        ($0.hidesData || !isQuiet) && "\($0.fault); \($0.remedy)" != transport.failure
      }
      for problem in told.prefix(namedCount) {
        let place = problem.fault.contains(problem.place) ? "" : problem.place + ": "
        Output.note(
          "hearth: warning: \(Style.safe(place + problem.fault)); \(Style.safe(problem.remedy))")
      }
      if told.count > namedCount {
        Output.note(
          "hearth: warning: \(told.count - namedCount) more of the same kinds; `--json` lists them")
      }
    }
  }
}
