import HearthCRDT
import HearthStore

/// A field of earlier versions whose content other fields hold now, kept right in both directions.
///
/// Earlier versions go on reading and writing the old field; this version reads and writes the new
/// ones:
///
/// ```swift
/// struct Person: Record {
///   var id = Key<Person>()
///   private(set) var name = ""
///   var first = ""
///   var last = ""
///   static let schema = Schema<Person>("person", 1) {
///     Field(1, \.name)
///     Field(2, \.first, .indexed)
///     Field(3, \.last, .indexed)
///     Lens(\.name) { "\($0.first) \($0.last)" } into: { person, name in
///       let words = name.split(separator: " ", maxSplits: 1).map(String.init)
///       (person.first, person.last) = (words.first ?? "", words.dropFirst().first ?? "")
///     }
///   }
/// }
/// ```
///
/// Whoever inserts or changes a record writes the old field beside the new ones. A record whose old
/// field says something else was written by an earlier version since: then the new fields are read
/// from the old one, and the next change of the record writes them. So what is shown depends on
/// the record alone, and is the same on all devices. Of two changes at the same time, one by each
/// version, the one with the later time shows; the other one is a conflict of the old field.
///
/// A change of the old property itself is lost: it always follows the new ones. Whoever may change
/// a new field by a ``Rule`` needs the right to change the old one too.
///
/// Queries compare and order what is stored: in a record that an earlier version wrote last, the
/// new fields have their former values until somebody changes it with this version, or calls
/// ``ZoneTransaction/adopt(_:)``.
public struct Lens<Owner: Record>: Sendable {
  let description: LensDescription<Owner>

  /// Declares a lens.
  ///
  /// - Parameters:
  ///   - path: the property of the old field, which a ``Field`` of the type declares.
  ///   - old: what the old field is to say of a record; it must not use the old field itself.
  ///   - adopt: sets the new fields from a value of the old one.
  public init<Value: FieldValue>(
    _ path: any WritableKeyPath<Owner, Value> & Sendable,
    from old: @escaping @Sendable (Owner) -> Value,
    into adopt: @escaping @Sendable (inout Owner, Value) -> Void
  ) {
    description = LensDescription(
      path: path,
      isKept: { $0[keyPath: path] == old($0) },
      keep: { $0[keyPath: path] = old($0) },
      adopt: { adopt(&$0, $0[keyPath: path]) })
  }
}

extension Schema {
  /// The record with the new fields that an earlier version wrote through their old one.
  ///
  /// - Parameter row: The record's stored fields; where an old one has nothing, nobody wrote it.
  func adopted(_ record: Owner, from row: RecordRow) -> Owner {
    var adopted = record
    for lens in lenses {
      guard let place = fields.firstIndex(where: { $0.path == lens.path }),
        row.fields[place] != .value(.null), !lens.isKept(record)
      else { continue }
      lens.adopt(&adopted)
    }
    return adopted
  }

  /// The record with the old fields as they are to be written.
  func kept(_ record: Owner) -> Owner {
    var kept = record
    for lens in lenses { lens.keep(&kept) }
    return kept
  }
}
