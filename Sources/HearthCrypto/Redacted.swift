/// A type whose values hold secrets and therefore show nothing but their type's name.
///
/// Covers `print`, `String(describing:)`, `String(reflecting:)`, `dump` and `Mirror`, so that a
/// secret cannot reach a log by an interpolation made in a hurry.
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
