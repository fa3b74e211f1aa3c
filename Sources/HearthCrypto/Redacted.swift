/// A type whose values contain secrets and therefore print only their type's name.
///
/// It covers `print`, `String(describing:)`, `String(reflecting:)`, `dump` and `Mirror`, so that a
/// careless interpolation cannot leak a secret into a log.
package protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{}

extension Redacted {
  /// The name of the type followed by `(redacted)`.
  package var description: String { "\(Self.self)(redacted)" }
  /// The same as `description`.
  package var debugDescription: String { description }
  /// A mirror without children.
  package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}
