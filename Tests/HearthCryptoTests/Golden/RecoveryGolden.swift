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

  /// Of the secret 00 01 … 0f: sign key, box key, recovery id, relay key of the relay 09, locator,
  /// secret of the access, capsule key, a signature, and the digest of a recovery capsule.
  static let recoveryRoot = [
    "238df09b1137109db5e50dbcc3c73c8136ddd80564de21502fceccdd89729055",
    "414b3861c19f1a738ce70503b1f21ae6f841d66018d96000511e722f4795d02d",
    "bb77971b2d7f0b1e4fd8bee2ac504a7d",
    "3e57d027d6549b4182ef34313d24f8b8d8c54e31a7366169d342086f7cf7b5ce",
    "0ceb22084f9e53ff77971f927eae419b",
    "a74f6728035b05aec6e99de6d5fd83457342be2eb89a1d438892e51aa866c7b8",
    "89201cbd9929a3dd6b800388e5a562595306dcbf4aa3f881284c2a8bdb3224e1",
    """
    e91bb62596f07197dfbad9b80ae1d8c519178b1956699cf95e22a186dcd9c7d13eddf06360a24a7a6676bf4e\
    12c86efff6606f3631d298c761ed9bc1cb186a03
    """,
    "a2011487b55ab0c8fb62934ab75fc6d89231d20043504cc068bdbf501c219111",
  ]

  /// The safety number of two people, the digits of a frontier, a commitment and the digits after.
  static let comparison = [
    "201621019382120783262137739335857001574595291465924444223094",
    "435002303082230619886707097793",
    "01a61660e205bfe218daffbbafa43da803d5fb665a80b4a3c8a7dd80d49ab5406d",
    "221490973950",
  ]
}
