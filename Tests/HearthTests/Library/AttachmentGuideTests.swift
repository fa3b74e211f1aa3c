import Foundation
import Hearth
import Testing

struct Receipt: Record {
  var id = Key<Receipt>()
  var shop = ""
  var scan: FileAttachment?
  var photos: Set<FileAttachment> = []

  static let schema = Schema<Receipt>("receipt", 1) {
    Field(1, \.shop, .indexed)
    Field(2, \.scan)
    SetOf(3, \.photos)
  }
}

@Suite("The guide to attachments")
struct AttachmentGuideTests {
  private let app = AppSchema("org.example.receipts", [Receipt.self])

  @Test("The guide's code does what the guide says")
  func guide() async throws {
    let family = try Family()
    let anna = try await HearthNode.open(at: family.home("Anna"), app, as: .new(person: "Anna"))
    let zone = try await anna.shared.zone(named: "Family", create: true)
    try await anna.addFolder(family.folder)
    let ben = try await HearthNode.open(at: family.home("Ben"), app, as: .new(person: "Ben"))
    let link = try await zone.invite()
    guard case .joined(let bens) = try await ben.join(link) else { return }
    let bytes = [UInt8](repeating: 7, count: 5_000)
    let receipt = try await zone.write { tx in
      let scan = try tx.attach(bytes, type: "image/png")
      return try tx.insert(Receipt(shop: "Market", scan: scan))
    }
    try await anna.sync()
    try await ben.sync()
    let found = try await bens.get(receipt.id)
    if let scan = found?.scan {
      let content = try await bens.attachments.content(of: scan)
      print(content.count, scan.type)
      #expect(Array(content) == bytes && scan.type == "image/png")
    }
    let scan = try #require(found?.scan)
    let (count, missing) = try await bens.attachments.download()
    #expect(count == 0 && missing == 0)
    try await bens.attachments.free(scan)
    #expect(try await !bens.attachments.isHere(scan))
  }

  @Test("Every block of code in the guide is in this file")
  func compiled() throws {
    try GuideCode.check("attachments.md", isIn: #filePath, blocks: 5)
  }
}
