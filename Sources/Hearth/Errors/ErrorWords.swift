import HearthCrypto
import HearthStore
import HearthSync
import HearthTransport

/// Returns text of a link or file with each hidden character as its number, cut after 200
/// characters.
///
/// Control characters could move a terminal's cursor, and invisible ones would make two different
/// paths look the same.
package func printable(_ text: String) -> String {
  let limit = 200
  var result = ""
  for scalar in text.prefix(limit).unicodeScalars {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate,
      .unassigned:
      result += "\\u{" + String(scalar.value, radix: 16) + "}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return text.count > limit ? result + "…" : result
}

/// Returns the stable word for an error of any layer; nil for a foreign error.
///
/// Programs decide on this word.
package func codeWord(of error: any Error) -> String? {
  switch error {
  case let error as HearthError: error.code.rawValue
  case let error as SyncError: error.code.rawValue
  case let error as StoreError: error.code.rawValue
  case let error as CryptoError: error.code.rawValue
  case let error as TransportError: "offline." + error.code.rawValue
  default: nil
  }
}
