import Hearth

/// Requires that a call fails because the person may not do this.
///
/// ```swift
/// try await expectDenied { try await cleos.delete(milk.id) }
/// ```
///
/// - Parameter code: the code of the expected error.
/// - Returns: the error.
/// - Throws: ``FamilyError`` if the call succeeds or fails otherwise.
@discardableResult
public func expectDenied(
  _ code: HearthError.Code = .notAllowed, _ call: () async throws -> Void
) async throws -> HearthError {
  do {
    try await call()
  } catch let error as HearthError where error.code == code {
    return error
  } catch {
    throw FamilyError("expected a failure with the code \(code.rawValue), but got: \(error)")
  }
  throw FamilyError("expected a failure with the code \(code.rawValue), but the call succeeded")
}
