import HearthCRDT
import Testing

@testable import HearthCLI

@Suite("Names that look alike")
struct LookAlikeTests {
  private func person(_ high: UInt64, _ name: String) -> PersonChoice {
    PersonChoice(id: Identifier(high: high << 32, low: 1), name: name)
  }

  @Test(
    "What people take for one another looks alike, either way round",
    arguments: [
      ("Anna", "Аnna"), ("Anna", "Αnna"), ("Anna", "аnna"), ("Anna", "Ａｎｎａ"), ("Anna", "𝐀𝐧𝐧𝐚"),
      ("Anna", "Ánna"), ("Anna", "A\u{200B}nna"), ("Anna", "An\u{AD}na"), ("Anna", "Anna "),
      ("Anna", "\u{2800}Anna"), ("Anna", "ANNA"), ("Anna", "ᴀɴɴᴀ"), ("Anna", "Anna\u{FE0F}"),
      ("Alice", "AIice"), ("Alice", "A1ice"), ("Alice", "А|ice"), ("Ian", "lan"), ("Ian", "1an"),
      ("Otto", "0tto"), ("Otto", "Ｏtto"), ("Otto", "οttο"), ("Lena", "lеnа"), ("Ben", "Веn"),
      ("Hans", "Наnѕ"), ("Zoe", "Zoë"), ("Jurgen", "Jürgen"), ("Soren", "Søren"),
      ("Łukasz", "Lukasz"), ("Anna Maria", "Anna\u{A0} Maria"), ("Anna-Maria", "Anna–Maria"),
      ("O'Neil", "O’Neil"), ("Emma", "Ernrna"), ("Wim", "VVirn"), ("Æon", "Aeon"),
      ("Groß", "Gross"), ("Андрей", "Андреи"), ("Вера", "Bepа"), ("Ⅳan", "IVan"),
      ("محمد", "مُحَمَّد"), ("ﬁona", "fiona"), ("Joe", "Јое"), ("İda", "Ida"), ("ida", "ıda"),
    ])
  func alike(left: String, right: String) {
    #expect(LookAlike.looksLike(left, right))
    #expect(LookAlike.looksLike(right, left))
    #expect(LookAlike.looksLike(left, left) && LookAlike.looksLike(right, right))
  }

  @Test(
    "Names that differ to the eye do not",
    arguments: [
      ("Anna", "Anne"), ("Anna", "Hanna"), ("Ian", "Lan"), ("Mia", "Mla0"), ("Ben", "Bea"),
      ("Lia", "Ila"), ("Anna Maria", "Annamaria"), ("Otto", "Otta"), ("Anna", ""),
      ("रेखा", "रखा"), ("はな", "ばな"), ("Анна", "Алла"), ("Tom", "Tim"), ("Anna", "Anna 2"),
    ])
  func different(left: String, right: String) {
    #expect(!LookAlike.looksLike(left, right))
    #expect(!LookAlike.looksLike(right, left))
  }

  @Test("A long name of marks alone has a skeleton too")
  func extremes() {
    #expect(LookAlike.looksLike("", "\u{301}\u{302}"))
    #expect(LookAlike.looksLike("", " \u{200D} "))
    let long = String(repeating: "Аn\u{300}", count: 10_000)
    #expect(LookAlike.looksLike(long, String(repeating: "An", count: 10_000)))
  }

  @Test("Lists mark both of two whose names look alike, and nobody else")
  func marks() {
    let everybody = [
      person(1, "Anna"), person(2, "Аnna"), person(3, "Ben"), person(4, "ben"), person(5, "Cleo"),
      person(6, "Ánna"),
    ]
    let names = ShownNames(everybody)
    func name(_ place: Int) -> String? { names.name(of: everybody[place].id) }
    #expect(name(0) == "Anna (looks like Ánna and Аnna; 00000001)")
    #expect(name(1) == "Аnna (looks like Anna and Ánna; 00000002)")
    #expect(name(2) == "Ben (00000003)")
    #expect(names.markedName(of: everybody[2].id) == "Ben")
    #expect(names.markedName(of: everybody[1].id) == name(1))
    #expect(name(4) == "Cleo")
    #expect(names.name(of: person(9, "").id) == nil)
  }

  @Test("A newcomer is marked with the device; one of the very same name is not")
  func newcomers() {
    let names = ShownNames([person(1, "Anna"), person(2, "Ben")])
    let device = Identifier(high: 0x3f2a_09bb << 32, low: 7)
    #expect(
      names.name(ofNewcomer: "Аnna", on: device) == "Аnna (looks like Anna; device 3f2a09bb)")
    #expect(names.name(ofNewcomer: "anna", on: device) == "anna")
    #expect(names.name(ofNewcomer: "Cleo", on: device) == "Cleo")
    #expect(names.lookAlikes(ofNewcomer: "Веn").map(\.name) == ["Ben"])
  }
}
