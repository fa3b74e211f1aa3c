import HearthCrypto
import HearthStore
import HearthSync
import HearthTransport

/// Text of a link or file with everything that does not show itself written as its number, and cut
/// after 200 characters.
///
/// Control characters could move a terminal's cursor; those that are invisible would let two
/// different paths look the same.
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

/// The stable word for an error of any layer, on which programs decide; nil for a foreign error.
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
