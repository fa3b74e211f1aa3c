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

/// A message as it is shown, with the device that signed it.
struct Line: Equatable, Sendable {
  let message: Key<Message>
  let text: String
  let origin: Origin?
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
  let printing = Task {
    var shown: Set<Key<Message>> = []
    var authors = try await room.authors
    let lines = room.observe { reader in
      try reader.fetch(Message.all.order(\.sent)).map {
        Line(message: $0.id, text: $0.text, origin: try reader.origin(of: $0.id))
      }
    }
    for try await lines in lines {
      // The last messages are shown after the node was closed.
      authors = (try? await room.authors) ?? authors
      for line in lines where shown.insert(line.message).inserted {
        print("\(line.origin.flatMap { authors[$0] }?.name ?? "?"): \(line.text)")
      }
    }
  }
  while let text = readLine() { try await room.insert(Message(text: text)) }
  await live.stop()
  try await node.sync()
  try await node.close()
  try await printing.value
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
