import HearthCRDT
import Synchronization

/// A decided control log, shared by the copies of a membership.
///
/// What follows from the decisions is worked out when it is first asked for, as most folds are
/// followed by another before anybody asks for all of it.
final class ResolvedControl: Sendable {
  let resolver: ControlResolver
  private let lasting: (rules: Later<[Int]>, thresholds: Later<[Int]>) = (Later(), Later())
  private let persons: (present: Later<[Membership.Person]>, former: Later<[Membership.Person]>) =
    (Later(), Later())
  private let machines: (present: Later<[Membership.Device]>, all: Later<[Membership.Device]>) =
    (Later(), Later())
  private let made: (invites: Later<[Membership.Invite]>, offers: Later<[Membership.Offer]>) =
    (Later(), Later())
  private let void = Later<[VoidedOperation]>()
  private let shown = Later<[DeviceID: DeviceCard]>()
  private let unknown = Later<Int>()
  private let suite = Later<UInt8>()

  init(_ resolver: ControlResolver) {
    self.resolver = resolver
  }

  /// The operations that changed what newcomers may read, in the log's order.
  var ruleChanges: [Int] { lasting.rules.value { resolver.ruleChanges() } }
  /// The operations from which on newcomers are given new keys, in the log's order.
  var thresholds: [Int] { lasting.thresholds.value { resolver.thresholds(ruleChanges) } }
  var people: [Membership.Person] { persons.present.value { resolver.people(areFormer: false) } }
  var formerPeople: [Membership.Person] {
    persons.former.value { resolver.people(areFormer: true) }
  }
  var devices: [Membership.Device] { machines.present.value { allDevices.filter(\.isActive) } }
  var allDevices: [Membership.Device] { machines.all.value { resolver.devices() } }
  var invites: [Membership.Invite] { made.invites.value { resolver.invites() } }
  var offers: [Membership.Offer] { made.offers.value { resolver.offers() } }
  var voided: [VoidedOperation] { void.value { resolver.voided() } }
  var cards: [DeviceID: DeviceCard] { shown.value { resolver.cards() } }
  var minimumSuite: UInt8 { suite.value { resolver.minimumSuite(.all) } }
  var unknownOperations: Int {
    unknown.value {
      resolver.log.items.count {
        if case .unknown = $0.operation { return true }
        return false
      }
    }
  }
}

/// What is worked out once, when somebody first asks for it.
private final class Later<Value: Sendable>: Sendable {
  private let known = Mutex<Value?>(nil)

  /// The value, made now if nobody asked before.
  func value(_ make: () -> Value) -> Value {
    if let value = known.withLock({ $0 }) { return value }
    // Not under the lock: two who ask at once find the same.
    let value = make()
    known.withLock { $0 = value }
    return value
  }
}
