import HearthCrypto
import HearthStore
import HearthSync
import HearthTransport

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
