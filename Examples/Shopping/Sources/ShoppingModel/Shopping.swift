// The records and rules of a shopping list that a family shares.
import Foundation
import Hearth

/// A shop, with a note that everybody edits and a place in the family's route.
package struct Shop: Record {
  package var id = Key<Shop>()
  package var name = ""
  package var note = ""
  package var position = Position()

  package init() {}

  package init(name: String) { self.name = name }

  package static let schema = Schema<Shop>("shop", 1) {
    Field(1, \.name, .indexed)
    Text(2, \.note)
    Field(3, \.position, .indexed)
  }
}

/// Something to buy, with a photo of what is meant.
package struct Article: Record {
  package var id = Key<Article>()
  package var shop: Key<Shop>?
  package var name = ""
  package var isBought = false
  package var quantity: Int64 = 0
  package var labels: Set<String> = []
  package var photo: FileAttachment?

  package init() {}

  package static let schema = Schema<Article>("article", 2) {
    Reference(1, \.shop, onDelete: .nullify)
    Field(2, \.name, .fullText)
    Field(3, \.isBought)
    Counter(4, \.quantity)
    SetOf(5, \.labels)
    Field(6, \.photo)
    Index(\.shop, \.isBought, \.name)
  }
}

/// The application: children tick off and count, and do nothing else.
package let shopping = AppSchema("org.example.shopping", [Shop.self, Article.self]) {
  Rule(Article.self, .child, may: .change(\.quantity), .change(\.isBought))
}

extension HearthZone {
  /// Puts an article on the list, or more of it if it is there.
  ///
  /// Equal names have equal keys. So two people who write the same article at once get one.
  @discardableResult
  package func add(_ name: String, _ count: Int64 = 1, photo: Data? = nil) async throws -> Article {
    try await write { tx in
      let key = tx.key(of: Article.self, named: name.lowercased())
      let attached = try photo.map { try tx.attach($0, type: "image/jpeg") }
      if try tx.get(key) == nil {
        var article = Article()
        article.id = key
        article.name = name
        try tx.insert(article)
      }
      return try tx.update(key) {
        $0.isBought = false
        $0.quantity += count
        if let attached { $0.photo = attached }
      }
    }
  }

  /// What is still to be bought.
  package func open() async throws -> [Article] {
    Array(try await fetch(Article.where(\.isBought == false).order(\.name)))
  }
}
