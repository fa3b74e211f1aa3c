import HearthCRDT

extension Frontier {
  /// What this frontier has beyond another, cited by hashes that are nobody's.
  package func difference(from base: Frontier) -> FrontierDifference {
    difference(from: base) { _ in [UInt8](repeating: 0, count: 32) }
  }
}
