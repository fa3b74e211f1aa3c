import HearthCRDT

/// The code with which decoding is refused; nil if it is not, or by another kind of error.
package func codecCode(_ body: () throws -> Void) -> CodecError.Code? {
  do {
    try body()
    return nil
  } catch let error as CodecError {
    return error.code
  } catch {
    return nil
  }
}
