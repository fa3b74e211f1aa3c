import Foundation

/// Begins a table of budgets.
func rowHeadings() {
  print("| what | measured | floor | ratio | budget | |")
  print("|---|---|---|---|---|---|")
}

/// Prints what one promise costs now.
func row(
  _ what: String, _ measured: String, floor: String = "", ratio: Double? = nil, budget: String,
  isMet: Bool
) {
  let ratio = ratio.map { number($0, 2) } ?? ""
  let verdict = isMet ? "ok" : "MISSED"
  print("| \(what) | \(measured) | \(floor) | \(ratio) | \(budget) | \(verdict) |")
  fflush(nil)
}

/// A number with so many digits after the point.
func number(_ value: Double, _ digits: Int) -> String {
  String(format: "%.\(digits)f", value)
}
