// A chat over a relay.
//
//   chat HOME NAME hearth-relay://…   begins a chat and prints the link for others
//   chat HOME NAME -                  joins by the link on the first line of the input
//   chat HOME                         continues
//
// A folder that people share stands in for the relay. Each further line of the input is a message.
// The chat ends with the input.
import Foundation
import Hearth

struct Message: Event {
  var id = Key<Message>()
  var text = ""
  var sent = Date.now

  static let schema = Schema<Message>("message", 1) {
    Field(1, \.text, .fullText)
    Field(2, \.sent, .indexed)
  }
}

/// Prints each message once, with the name of the person whose device signed it.
actor Board {
  private let room: HearthZone
  private var shown: Set<Key<Message>> = []

  init(_ room: HearthZone) { self.room = room }

  func show() async throws {
    let lines = try await room.read { reader in
      try reader.fetch(Message.all.order(\.sent)).map { ($0, try reader.origin(of: $0.id)) }
    }
    let authors = try await room.authors
    for (message, origin) in lines where shown.insert(message.id).inserted {
      print("\(origin.flatMap { authors[$0] }?.name ?? "?"): \(message.text)")
    }
  }
}

let arguments = CommandLine.arguments.dropFirst().map(\.self)
guard let home = arguments.first, arguments.count != 2, arguments.count < 4 else {
  fail("usage: chat HOME [NAME hearth-relay://…|FOLDER|-]")
}

do {
  let owner = arguments.count == 3 ? NodeOwner.new(person: arguments[1]) : nil
  let node = try await HearthNode.open(
    at: home, AppSchema("org.example.chat", [Message.self]), as: owner)
  let room = try await enter(node, by: arguments.last ?? "")
  let live = node.startSync()
  let board = Board(room)
  let printing = Task {
    for try await _ in room.observe(Message.all) { try await board.show() }
  }
  while let text = readLine() { try await room.insert(Message(text: text)) }
  await live.stop()
  try await node.sync()
  printing.cancel()
  _ = await printing.result
  try await board.show()
  try await node.close()
} catch {
  fail("\(error)")
}

/// Returns the node's only chat; a node without one begins or joins it.
func enter(_ node: HearthNode, by address: String) async throws -> HearthZone {
  if let room = await node.shared.zones().first { return room }
  if address == "-" {
    guard case .joined(let room) = try await node.join(readLine() ?? "") else {
      fail("this link lets nobody in without an approval")
    }
    return room
  }
  let room = try await node.shared.zone(named: "Chat", create: true)
  if address.hasPrefix("hearth-relay:") {
    try await node.addRelay(address)
  } else {
    try await node.addFolder(address)
  }
  print(try await room.invite(role: .member, uses: 1, expires: .days(7)))
  return room
}

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("chat: \(message)\n".utf8))
  exit(1)
}
