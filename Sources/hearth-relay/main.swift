import ArgumentParser
import HearthRelay

RelayCommand.main()
