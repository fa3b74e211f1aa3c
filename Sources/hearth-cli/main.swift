import HearthCLI

await HearthCommand.main()
