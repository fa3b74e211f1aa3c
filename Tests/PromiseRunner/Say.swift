#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Prints at once, also into a file that somebody watches.
func say(_ text: some CustomStringConvertible) {
  print(text)
  fflush(nil)
}
