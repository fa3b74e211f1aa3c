import ArgumentParser

/// The commands about chores, points, history and settings.
let householdCommands: [any ParsableCommand.Type] = []
