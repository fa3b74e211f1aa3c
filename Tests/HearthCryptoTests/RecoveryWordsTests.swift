import CSodium
import Testing

@testable import HearthCrypto

@Suite("Recovery words")
struct RecoveryWordsTests {
  private func words(_ hex: String) throws -> RecoveryWords {
    try RecoveryWords(entropy: Fixture.secret(Hex.decode(hex)))
  }

  private func read(_ text: String) throws -> RecoveryWords {
    var bytes = Array(text.utf8)
    defer { #expect(bytes.isEmpty, "the text was left behind") }
    return try RecoveryWords(consuming: &bytes)
  }

  private func failure(_ text: String) -> CryptoError? {
    do {
      _ = try read(text)
      return nil
    } catch {
      return error as? CryptoError
    }
  }

  private let anything =
    "cat swing flag economy stadium alone churn speed unique patch report train"

  @Test("the list is the one of BIP-39: its SHA-256, its order, four letters tell a word")
  func list() {
    let all = (0..<RecoveryWordList.count).map { RecoveryWordList.text(at: $0) }
    var digest = [UInt8](repeating: 0, count: 32)
    let file = Array((all.joined(separator: "\n") + "\n").utf8)
    _ = crypto_hash_sha256(&digest, file, UInt64(file.count))
    #expect(
      Hex.encode(digest) == "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda")
    #expect(all == all.sorted() && Set(all.map { $0.prefix(4) }).count == 2048)
    #expect(all.map(\.utf8.count).max() == RecoveryWordList.longestWordBytes)
  }

  @Test("published vectors of BIP-39, both ways", arguments: Golden.recoveryWords)
  func vectors(_ vector: (entropy: String, words: String)) throws {
    let words = try words(vector.entropy)
    #expect(words.joined == vector.words)
    #expect(try read(vector.words).joined == vector.words)
  }

  @Test("random words come back")
  func random() throws {
    for _ in 0..<200 {
      let words = try RecoveryWords.random()
      #expect(try read(words.joined).joined == words.joined)
    }
  }

  @Test("case, blanks, line breaks, commas, numbers and four letters do not matter")
  func tolerance() throws {
    let list = anything.split(separator: " ")
    func numbered(_ before: String, _ after: String, _ between: String) -> String {
      var pieces = [String]()
      for (index, word) in list.enumerated() {
        pieces.append("\(before)\(index + 1)\(after)\(word)")
      }
      return pieces.joined(separator: between)
    }
    let forms: [String] = [
      anything.uppercased(), "  " + list.joined(separator: "\r\n\t ") + "\n\n",
      numbered("", ". ", "\n"), numbered("", ".", " "), numbered("", ") ", "\n"),
      numbered("", " ", ", "), numbered("", "", " "),
      list.map { String($0.prefix(4)) }.joined(separator: "\u{a0}"),
      list.map { String($0.prefix(5)).uppercased() }.joined(separator: " , "),
    ]
    for form in forms { #expect(try read(form).joined == anything, "\(form)") }
  }

  @Test("every word is found by its first four letters or more, and by nothing shorter")
  func prefixes() {
    for place in 0..<RecoveryWordList.count {
      let word = Array(RecoveryWordList.text(at: place).utf8)
      for count in 1...word.count {
        let found = word.prefix(count).withUnsafeBytes { RecoveryWordList.place(of: $0) }
        if count >= min(4, word.count) {
          #expect(found == place)
        } else {
          #expect(found != place)
        }
      }
      let longer = (word + [UInt8(ascii: "q")]).withUnsafeBytes { RecoveryWordList.place(of: $0) }
      #expect(longer == nil)
    }
  }

  @Test(
    "a wrong word is named by its place, with the nearest words of the list",
    arguments: [
      ("ecomony", "economy"), ("stadim", "stadium"), ("xstadium", "stadium"),
      ("economie", "economy"), ("UNIQE", "unique"), ("spead", "speed"), ("trian", "train"),
      ("catz", "cat"), ("abandom", "abandon"),
    ])
  func suggestions(_ typed: String, _ nearest: String) throws {
    var list = anything.split(separator: " ").map(String.init)
    list[6] = typed
    let error = try #require(failure(list.joined(separator: " ")))
    #expect(error.code == .malformed)
    #expect(error.message.contains("Word 7 ") && error.message.contains("\"\(nearest)\""))
    #expect(!error.message.contains("economy") || nearest == "economy")
  }

  @Test("the nearest words are those that comparing with every word finds")
  func nearest() {
    let letters = Array("abcdefghijklmnopqrstuvwxyz".utf8)
    for seed in 0..<120 {
      let noise = Fixture.noise(8, seed: UInt8(seed))
      var typed = Array(RecoveryWordList.text(at: Int(noise[0]) * 8 + Int(noise[1]) % 8).utf8)
      for (place, letter) in [(noise[2], noise[3]), (noise[4], noise[5])] {
        typed[Int(place) % typed.count] = letters[Int(letter) % letters.count]
      }
      if noise[6].isMultiple(of: 2) { typed.append(letters[Int(noise[7]) % letters.count]) }
      let (found, all) = typed.withUnsafeBytes { typed in
        (
          RecoveryWordList.nearest(to: typed),
          (0..<RecoveryWordList.count).map {
            RecoveryWordList.edits(typed, RecoveryWordList.bytes(at: $0))
          }
        )
      }
      let least = all.min() ?? 0
      #expect(found.allSatisfy { all[$0] == least }, "seed \(seed)")
      #expect(found.count == min(3, all.count { $0 == least }), "seed \(seed)")
    }
  }

  @Test("what resembles nothing, or is too short, says so without a suggestion")
  func noSuggestion() throws {
    var list = anything.split(separator: " ").map(String.init)
    for typed in ["qqqqqqqq", "ü💐", "12345", "a.b.c.d.e", String(repeating: "w", count: 200)] {
      list[0] = typed
      let error = try #require(failure(list.joined(separator: " ")))
      #expect(error.code == .malformed && error.message.contains("Word 1 "), "\(typed)")
      #expect(!error.message.contains("did you mean"), "\(typed): \(error.message)")
    }
  }

  @Test("too few, too many and misnumbered words are told with the count or the place")
  func counts() throws {
    let list = anything.split(separator: " ")
    let short = try #require(failure(list.dropLast().joined(separator: " ")))
    #expect(short.code == .badLength && short.message.contains("11 words, 1 missing"))
    let long = try #require(failure(anything + " train train"))
    #expect(long.code == .badLength && long.message.contains("14 words, 2 too many"))
    #expect(failure("")?.code == .badLength)
    let skipped = list.enumerated().map { "\($0 < 4 ? $0 + 1 : $0 + 2). \($1)" }
    let order = try #require(failure(skipped.joined(separator: "\n")))
    #expect(order.code == .malformed)
    #expect(order.message.contains("number 6 is where word 5 is expected"))
    let most = anything + String(repeating: " ", count: 1024 - anything.utf8.count)
    #expect(failure(most) == nil)
    #expect(failure(most + " ")?.code == .badLength)
  }

  @Test("a checksum that does not fit says so; a quarter of a per cent of swaps fits by chance")
  func checksum() throws {
    let wrong = try #require(failure(anything.replacing("train", with: "cat")))
    #expect(wrong.code == .malformed && wrong.message.contains("checksum"))
    var accepted = 0
    let list = anything.split(separator: " ").map(String.init)
    for place in 0..<RecoveryWordList.count {
      var other = list
      other[3] = RecoveryWordList.text(at: place)
      accepted += failure(other.joined(separator: " ")) == nil ? 1 : 0
    }
    #expect(80...180 ~= accepted, "one in sixteen of 2,048 is 128, not \(accepted)")
  }

  @Test("a single word is confirmed as it is read, at its place only")
  func confirmation() throws {
    let words = try read(anything)
    func confirms(_ text: String, _ place: Int) -> Bool {
      var bytes = Array(text.utf8)
      defer { #expect(bytes.isEmpty) }
      return words.isWord(consuming: &bytes, at: place)
    }
    #expect(confirms("Economy", 4) && confirms(" econ\n", 4) && confirms("4. economy", 4))
    #expect(!confirms("economy", 5) && !confirms("economie", 4) && !confirms("", 4))
    #expect(!confirms("economy economy", 4))
    #expect(!confirms(String(repeating: " ", count: 1020) + "economy", 4))
  }

  @Test("words show nothing of themselves unless asked")
  func redaction() throws {
    let words = try read(anything)
    #expect("\(words)" == "RecoveryWords(redacted)")
    words.withWords { lent in
      #expect(lent.count == 12 && "\(lent[0])" == "RecoveryWord(redacted)")
      #expect(lent[0].text == "cat")
    }
    #expect(code { _ = try RecoveryWords(entropy: Fixture.secret([1])) } == .badLength)
  }

  @Test("random text never traps and never becomes words")
  func noise() {
    for seed in 0..<255 {
      var bytes = Fixture.noise(Int(seed) * 3, seed: UInt8(seed))
      #expect(code { _ = try RecoveryWords(consuming: &bytes) } != nil)
    }
  }
}

extension RecoveryWords {
  fileprivate var joined: String { withWords { $0.map(\.text).joined(separator: " ") } }
}
