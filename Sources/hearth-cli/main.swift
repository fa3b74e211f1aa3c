import HearthCLI

await HearthCommand.run()
