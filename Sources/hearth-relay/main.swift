import ArgumentParser
import HearthRelay

RelayCommand.begin()
