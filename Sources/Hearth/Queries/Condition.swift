import HearthCRDT
import HearthStore

/// A condition on the fields of records.
///
/// ```swift
/// Item.where(\.list == weekly && \.isBought == false && .contains(\.tags, "dairy"))
/// ```
///
/// Text is compared by its bytes. A comparison with `<` does not hold for a field without a value.
public struct Condition<Owner: Record>: Sendable {
  /// The condition, or why there is none.
  enum Content: Sendable {
    case condition(QueryCondition)
    case fault(String)
  }

  let content: Content

  init(_ content: Content) {
    self.content = content
  }

  /// A condition on a column.
  init(_ path: PartialKeyPath<Owner>, _ make: (QueryColumn) -> QueryCondition) {
    guard let column = Owner.schema.column(path) else {
      content = .fault(
        "a query names the property \(path), which is not a field of \(Owner.schema.name)")
      return
    }
    content = .condition(make(column))
  }

  /// The field is one of some values.
  public static func isOne<Value: FieldValue>(
    _ path: KeyPath<Owner, Value>, of values: some Sequence<Value>
  ) -> Condition {
    Condition(path) { .isOneOf($0, values.map(\.stored.value)) }
  }

  /// The text begins with a prefix.
  public static func begins(_ path: KeyPath<Owner, String>, with prefix: String) -> Condition {
    Condition(path) { .hasPrefix($0, prefix) }
  }

  /// The text is there, and begins with a prefix.
  public static func begins(_ path: KeyPath<Owner, String?>, with prefix: String) -> Condition {
    Condition(path) { .hasPrefix($0, prefix) }
  }

  /// The set contains an element.
  public static func contains<Element: FieldValue & Hashable>(
    _ path: KeyPath<Owner, Set<Element>>, _ element: Element
  ) -> Condition {
    Condition(path) { column in
      guard case .field(let field) = column else { return .any([]) }
      return .contains(field, element.stored.value)
    }
  }

  /// The fields with a text index contain every word of a text; a word may be the beginning of one.
  ///
  /// Upper and lower case are the same, and accents make no difference.
  public static func matches(_ text: String) -> Condition {
    Condition(.condition(.matches(text)))
  }

  /// Joins conditions.
  static func join(
    _ left: Condition, _ right: Condition,
    _ make: (QueryCondition, QueryCondition) -> QueryCondition
  ) -> Condition {
    switch (left.content, right.content) {
    case (.fault, _): left
    case (_, .fault): right
    case (.condition(let a), .condition(let b)): Condition(.condition(make(a, b)))
    }
  }
}

/// Both conditions hold.
public func && <Owner>(left: Condition<Owner>, right: Condition<Owner>) -> Condition<Owner> {
  Condition.join(left, right) { $0.and($1) }
}

/// At least one condition holds.
public func || <Owner>(left: Condition<Owner>, right: Condition<Owner>) -> Condition<Owner> {
  Condition.join(left, right) { $0.or($1) }
}

/// The condition does not hold.
public prefix func ! <Owner>(condition: Condition<Owner>) -> Condition<Owner> {
  guard case .condition(let content) = condition.content else { return condition }
  return Condition(.condition(.not(content)))
}

/// The field has a value.
public func == <Owner, Value: FieldValue>(
  path: KeyPath<Owner, Value>, value: Value
) -> Condition<Owner> {
  Condition(path) { .compare($0, .equal, value.stored.value) }
}

/// The field has another value, or none.
public func != <Owner, Value: FieldValue>(
  path: KeyPath<Owner, Value>, value: Value
) -> Condition<Owner> {
  Condition(path) { .compare($0, .unequal, value.stored.value) }
}

/// The field is less than a value.
public func < <Owner, Value: FieldValue & Comparable>(
  path: KeyPath<Owner, Value>, value: Value
) -> Condition<Owner> {
  Condition(path) { .compare($0, .less, value.stored.value) }
}

/// The field is at most a value.
public func <= <Owner, Value: FieldValue & Comparable>(
  path: KeyPath<Owner, Value>, value: Value
) -> Condition<Owner> {
  Condition(path) { .compare($0, .lessOrEqual, value.stored.value) }
}

/// The field is greater than a value.
public func > <Owner, Value: FieldValue & Comparable>(
  path: KeyPath<Owner, Value>, value: Value
) -> Condition<Owner> {
  Condition(path) { .compare($0, .greater, value.stored.value) }
}

/// The field is at least a value.
public func >= <Owner, Value: FieldValue & Comparable>(
  path: KeyPath<Owner, Value>, value: Value
) -> Condition<Owner> {
  Condition(path) { .compare($0, .greaterOrEqual, value.stored.value) }
}

/// The field has a value, and it is less than another.
public func < <Owner, Value: FieldValue & Comparable>(
  path: KeyPath<Owner, Value?>, value: Value
) -> Condition<Owner> {
  Condition(path) { .compare($0, .less, value.stored.value) }
}

/// The field has a value, and it is at most another.
public func <= <Owner, Value: FieldValue & Comparable>(
  path: KeyPath<Owner, Value?>, value: Value
) -> Condition<Owner> {
  Condition(path) { .compare($0, .lessOrEqual, value.stored.value) }
}

/// The field has a value, and it is greater than another.
public func > <Owner, Value: FieldValue & Comparable>(
  path: KeyPath<Owner, Value?>, value: Value
) -> Condition<Owner> {
  Condition(path) { .compare($0, .greater, value.stored.value) }
}

/// The field has a value, and it is at least another.
public func >= <Owner, Value: FieldValue & Comparable>(
  path: KeyPath<Owner, Value?>, value: Value
) -> Condition<Owner> {
  Condition(path) { .compare($0, .greaterOrEqual, value.stored.value) }
}
