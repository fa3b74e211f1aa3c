import HearthCRDT
import HearthMembership
import HearthStore

/// Looks for mistakes in an application's declarations, before a node is opened with them.
struct SchemaCheck {
  private let app: AppSchema

  /// The numbers that types of applications can have; the two beyond are for Hearth's own.
  static let typeNumbers = 1...16_381
  /// The most fields of a type.
  static let maximumFields = 60
  /// The numbers that fields can have.
  static let fieldNumbers = 1...8_191

  init(_ app: AppSchema) {
    self.app = app
  }

  /// - Throws: `schema`, with the first mistake.
  func run() throws(HearthError) {
    var names: [String: Int] = [:]
    var numbers: [Int: String] = [:]
    for type in app.types {
      try require(
        SchemaCheck.typeNumbers.contains(type.number),
        "record type \(type.name) has number \(type.number), which is not in 1...16381")
      if let other = numbers.updateValue(type.name, forKey: type.number) {
        throw HearthError(
          .schema, "the record types \(other) and \(type.name) both have number \(type.number)")
      }
      if let other = names.updateValue(type.number, forKey: type.name) {
        throw HearthError(
          .schema, "the record types \(other) and \(type.number) both have the name \(type.name)")
      }
      try check(type)
    }
    for type in app.types {
      for field in type.fields {
        guard let target = field.target, target.effect != .nothing else { continue }
        try require(
          numbers[SchemaCheck.number(of: target.type)] == target.typeName,
          "field \(field.name) of \(type.name) has a rule for deletions of record type "
            + "\(target.typeName), which the application does not declare")
      }
    }
    for derivation in app.derivations {
      if let other = names.updateValue(0, forKey: derivation.name) {
        throw HearthError(
          .schema,
          "the derived table \(derivation.name) has the name of "
            + (other > 0 ? "record type \(other)" : "another one"))
      }
      try check(derivation)
      try require(
        numbers[SchemaCheck.number(of: derivation.type)] == derivation.typeName,
        "the derived table \(derivation.name) is computed from record type "
          + "\(derivation.typeName), which the application does not declare")
    }
    for rule in app.rules { try check(rule, numbers) }
  }

  private func check(_ rule: Rule, _ numbers: [Int: String]) throws(HearthError) {
    try require(
      numbers[SchemaCheck.number(of: rule.type)] == rule.typeName,
      "a rule is about record type \(rule.typeName), which the application does not declare")
    try require(
      !rule.actions.contains(.unknown),
      "a rule of record type \(rule.typeName) is about a property that is no field")
    try require(
      !rule.type.isEvent || rule.actions.allSatisfy { $0 == .create },
      "a rule is about changing or deleting events of \(rule.typeName), which never change")
  }

  /// A type's number without the bits of its behaviour.
  private static func number(of type: TypeID) -> Int { Int(type.rawValue & 0x3fff) }

  /// The application's identifier.
  ///
  /// - Throws: `schema` if the text is none.
  func identifier() throws(HearthError) -> ApplicationIdentifier {
    guard let identifier = ApplicationIdentifier(app.identifier) else {
      throw HearthError(
        .schema,
        "the application's identifier \"\(printable(app.identifier))\" is not a name such as "
          + "org.example.shopping, of lower-case letters, digits, dots and inner hyphens, with at "
          + "most \(ApplicationIdentifier.maximumBytes) bytes")
    }
    return identifier
  }

  private func check(_ type: TypeDescription) throws(HearthError) {
    try require(
      SchemaCheck.isName(type.name),
      "the record type name \"\(printable(type.name))\" is not lower-case letters, digits and "
        + "underscores, or begins with hearth_, sqlite_ or grdb_")
    try require(
      type.fields.count <= SchemaCheck.maximumFields,
      "record type \(type.name) has more than \(SchemaCheck.maximumFields) fields")
    try require(!type.repeatsProperty, "record type \(type.name) declares one property twice")
    var names: Set<String> = []
    var numbers: [Int: String] = [:]
    for field in type.fields {
      try require(
        SchemaCheck.fieldNumbers.contains(field.number),
        "field \(field.name) of \(type.name) has number \(field.number), which is not in 1...8191")
      if let other = numbers.updateValue(field.name, forKey: field.number) {
        throw HearthError(
          .schema,
          "the fields \(other) and \(field.name) of \(type.name) both have number \(field.number)")
      }
      try require(
        SchemaCheck.isName(field.name) && !["zone", "id", "alive", "meta"].contains(field.name),
        "the field name \"\(printable(field.name))\" of \(type.name) is reserved, or not "
          + "lower-case letters, digits and underscores")
      try require(
        names.insert(field.name).inserted,
        "two fields of \(type.name) have the name \(field.name): name one of them")
      try require(
        !field.options.contains(.fullText) || field.type == .text,
        "field \(field.name) of \(type.name) is no text, so it cannot have a text index")
      let isEmpty =
        switch field.id.kind {
        case .counter: field.defaultValue == .int(0)
        case .text: field.defaultValue == .text("")
        case .register, .history, .set: true
        }
      try require(
        isEmpty && !field.hasDefaultElements,
        "field \(field.name) of \(type.name) is a counter, a set or a text that people edit "
          + "together, so its default must be empty")
      if type.type.isEvent { try check(field, ofEvents: type.name) }
    }
    try checkLenses(of: type)
    for index in type.indexes {
      try require(
        !index.isEmpty && index.allSatisfy { $0 != nil && $0?.kind != .set },
        "an index of \(type.name) names a set, or a property that is no field")
    }
  }

  private func checkLenses(of type: TypeDescription) throws(HearthError) {
    for field in type.lensFields {
      try require(
        field?.kind == .register,
        "a lens of \(type.name) is for a property that is no field with one value")
    }
    try require(
      Set(type.lensFields).count == type.lensFields.count,
      "two lenses of \(type.name) are for one property")
  }

  private func check(
    _ field: TypeDescription.Field, ofEvents name: String
  ) throws(HearthError) {
    try require(
      field.id.kind == .register,
      "field \(field.name) of \(name) is no Field or Reference, but an event never changes")
    try require(
      field.target.map { $0.effect == .nothing } ?? true,
      "field \(field.name) of \(name) has a rule for deletions, but an event never changes")
  }

  private func check(_ derivation: DerivationDescription) throws(HearthError) {
    let name = derivation.name
    try require(
      SchemaCheck.isName(name),
      "the name \"\(printable(name))\" of a derived table is not lower-case letters, digits and "
        + "underscores, or begins with hearth_, sqlite_ or grdb_")
    try require(
      derivation.groupField != nil,
      "the derived table \(name) groups records by a property that is no field with one value")
    try require(
      (1...SchemaCheck.maximumFields).contains(derivation.columns.count),
      "the derived table \(name) has not between 1 and \(SchemaCheck.maximumFields) columns")
    var names: Set<String> = []
    for column in derivation.columns {
      try require(
        SchemaCheck.isName(column.name) && column.name != "zone",
        "the column name \"\(printable(column.name))\" of the derived table \(name) is reserved, "
          + "or not lower-case letters, digits and underscores")
      try require(
        names.insert(column.name).inserted,
        "two columns of the derived table \(name) have the name \(column.name): name one of them")
    }
  }

  private static func isName(_ name: String) -> Bool {
    let bytes = name.utf8
    guard let first = bytes.first, (0x61...0x7a).contains(first), bytes.count <= 60,
      !["hearth_", "sqlite_", "grdb_"].contains(where: name.hasPrefix)
    else { return false }
    return bytes.allSatisfy {
      (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5f
    }
  }

  private func require(_ condition: Bool, _ fault: @autoclosure () -> String) throws(HearthError) {
    guard condition else { throw HearthError(.schema, fault()) }
  }
}

extension AppSchema {
  /// The declarations for a node.
  ///
  /// - Throws: `schema`, with the mistake.
  func checked() throws(HearthError) -> NodeSchema {
    let check = SchemaCheck(self)
    let application = try check.identifier()
    try check.run()
    return NodeSchema(
      records: types.map(\.recordSchema), projections: derivations.map { RecordDerivation($0) },
      policy: PolicyMaker.policy(rules), application: application,
      lookups: types.map(\.lookups), deletions: DeletionRules(types),
      derived: derivations.compactMap(\.table))
  }
}
