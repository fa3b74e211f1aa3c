import ArgumentParser

/// The commands about the node, its people and its ways to others.
let nodeCommands: [any ParsableCommand.Type] = []
