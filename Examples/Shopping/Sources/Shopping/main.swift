// Two phones share a shopping list through a folder: offline edits, a text, a photo, a conflict.
import Foundation
import Hearth
import ShoppingModel

let root = FileManager.default.temporaryDirectory
  .appendingPathComponent("hearth-shopping-\(ProcessInfo.processInfo.processIdentifier)")
let folder = root.appendingPathComponent("shared").path
try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: root) }

func phone(_ name: String) async throws -> HearthNode {
  try await HearthNode.open(
    at: root.appendingPathComponent(name).path, shopping, as: .new(person: name))
}

let anna = try await phone("Anna")
let home = try await anna.shared.zone(named: "Home", create: true)
try await anna.addFolder(folder)
let market = try await home.insert(Shop(name: "Market"))
let ben = try await phone("Ben")
guard case .joined(let bens) = try await ben.join(try await home.invite()) else {
  fatalError("the link needs no approval")
}

// Both are offline and write to the same records.
try await home.add("Milk", 2, photo: Data(repeating: 0xff, count: 300_000))
try await home.update(market.id) { $0.note = "Open until eight." }
try await bens.add("Milk")
try await bens.update(market.id) { $0.name = "Market hall" }
try await home.update(market.id) { $0.name = "Green market" }

for node in [anna, ben, anna, ben] { try await node.sync() }

for article in try await bens.open() {
  guard let photo = article.photo else { continue }
  let content = try await bens.attachments.content(of: photo)
  print("\(article.quantity) × \(article.name), with a photo of \(content.count) bytes")
}
if let shop = try await bens.get(market.id) { print("\(shop.name): \(shop.note)") }
for conflict in try await bens.conflicts() {
  let values = conflict.values.map { "\($0.authorName) wrote \($0.stored)" }
  print("conflict in \(conflict.field): \(values.joined(separator: ", "))")
}
let isEqual = try await home.digest() == bens.digest()
print(isEqual ? "both replicas are equal" : "the replicas differ")
