import Foundation

/// A table of budgets, which prints each row at once and names the missed budgets at the end.
final class BudgetTable {
  private var missed: [String] = []

  /// Begins a table.
  func begin() {
    print("| what | measured | floor | ratio | budget | |")
    print("|---|---|---|---|---|---|")
  }

  /// Prints what one promise costs now.
  func row(
    _ what: String, _ measured: String, floor: String = "", ratio: Double? = nil, budget: String,
    isMet: Bool
  ) {
    let ratio = ratio.map { number($0, 2) } ?? ""
    let verdict = verdict(what, isMet: isMet)
    print("| \(what) | \(measured) | \(floor) | \(ratio) | \(budget) | \(verdict) |")
    fflush(nil)
  }

  /// The word that a row ends with; a missed budget is named again at the end.
  func verdict(_ what: String, isMet: Bool) -> String {
    if !isMet { missed.append(what) }
    return isMet ? "ok" : "MISSED"
  }

  /// Ends the table.
  ///
  /// - Throws: `BenchError` with the names of the missed budgets, if there are any.
  func end() throws {
    guard !missed.isEmpty else { return }
    throw BenchError("\(missed.count) missed: " + missed.joined(separator: "; "))
  }
}

/// A number with so many digits after the point.
func number(_ value: Double, _ digits: Int) -> String {
  String(format: "%.\(digits)f", value)
}
