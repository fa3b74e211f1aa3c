/// Words and keys of known secrets.
extension Golden {
  /// Vectors of BIP-39 as its authors published them, and one of ours (the last).
  static let recoveryWords = [
    (
      entropy: "00000000000000000000000000000000",
      words:
        "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"
    ),
    (
      entropy: "7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f",
      words: "legal winner thank year wave sausage worth useful legal winner thank yellow"
    ),
    (
      entropy: "80808080808080808080808080808080",
      words: "letter advice cage absurd amount doctor acoustic avoid letter advice cage above"
    ),
    (
      entropy: "ffffffffffffffffffffffffffffffff",
      words: "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong"
    ),
    (
      entropy: "9e885d952ad362caeb4efe34a8e91bd2",
      words: "ozone drill grab fiber curtain grace pudding thank cruise elder eight picnic"
    ),
    (
      entropy: "c0ba5a8e914111210f2bd131f3d5e08d",
      words: "scheme spot photo card baby mountain device kick cradle pact join borrow"
    ),
    (
      entropy: "23db8160a31d3e0dca3688ed941adbf3",
      words: "cat swing flag economy stadium alone churn speed unique patch report train"
    ),
    (
      entropy: "f30f8c1da665478f49b001d94c5fc452",
      words: "vessel ladder alter error federal sibling chat ability sun glass valve picture"
    ),
    (
      entropy: "000102030405060708090a0b0c0d0e0f",
      words: "abandon amount liar amount expire adjust cage candy arch gather drum buyer"
    ),
  ]
}
