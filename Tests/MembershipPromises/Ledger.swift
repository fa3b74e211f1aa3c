/// A history with dense numbers: what each act claims and whether its claims are closed.
///
/// Acts are numbered by their place in true time. Persons, devices and links are numbered in
/// the order of their appearance.
struct Ledger {
  struct Link {
    let issue: Int
    let role: Role
    let forPerson: Int?
    let uses: Int
    let approval: Bool
    /// The last moment at which the link is good.
    let expires: Int
  }

  /// What an act does with numbers resolved; -1 stands for something that does not exist.
  enum Move {
    case found
    case invite(link: Int)
    case close(link: Int)
    case join(link: Int, person: Int)
    case admit(link: Int, device: Int, person: Int)
    case confirm(device: Int)
    case confirmHandover(accept: Int)
    case remove(person: Int)
    case revoke(device: Int)
    case setRole(person: Int, role: Role)
    case leave
    case setWords(Int, consent: Int?)
    case recover(person: Int, words: Int, revokingOthers: Bool)
    case offer(person: Int, words: Int)
    case withdraw
    case accept(offer: Int)
    case seal(devices: [Int])
    case heartbeat
  }

  private(set) var acts: [Act] = []
  private(set) var moves: [Move] = []
  private(set) var device: [Int] = []
  private(set) var past: [Bits] = []
  private(set) var closed: [Bool] = []
  private(set) var links: [Link] = []
  private(set) var deviceIDs: [Int] = []
  private(set) var personIDs: [Int] = []
  /// The person as whom a device entered first, in dense numbers; -1 for strangers.
  private(set) var owner: [Int] = []
  /// A device that entered as two people: too strange to judge.
  private(set) var isStrange = false

  private var deviceIndex: [Int: Int] = [:]
  private var personIndex: [Int: Int] = [:]
  private var linkIndex: [Int: Int] = [:]
  private var actIndex: [Int: Int] = [:]
  private var logs: [[Int]] = []

  var count: Int { acts.count }

  init() {
    _ = number(person: 0)
  }

  /// Nil if there are more acts than the oracle looks at.
  init?(_ history: [Act]) {
    guard history.count <= Bits.limit else { return nil }
    self.init()
    for act in history { append(act) }
  }

  /// The next act in true time.
  mutating func append(_ act: Act) {
    let time = acts.count
    acts.append(act)
    if actIndex[act.id] == nil { actIndex[act.id] = time }
    if case .invite(let id, let role, let person, let uses, let approval, let expires) = act.deed,
      linkIndex[id] == nil
    {
      linkIndex[id] = links.count
      links.append(
        Link(
          issue: time, role: role, forPerson: person.map { number(person: $0) }, uses: uses,
          approval: approval, expires: expires))
    }
    let place = number(device: act.device)
    device.append(place)
    moves.append(move(act))
    read(act, time, place)
    logs[place].append(time)
    findOwner(time, place)
  }

  /// All acts of these counts.
  func bits(_ counts: [Int: Int]) -> Bits {
    var result = Bits()
    for (id, count) in counts {
      guard let place = deviceIndex[id] else { continue }
      for time in logs[place].prefix(count) { result[time] = true }
    }
    return result
  }

  func place(ofDevice id: Int) -> Int? { deviceIndex[id] }
  func place(ofPerson id: Int) -> Int? { personIndex[id] }

  func sees(_ one: Int, _ other: Int) -> Bool { past[one][other] }

  func areConcurrent(_ one: Int, _ other: Int) -> Bool {
    one != other && !sees(one, other) && !sees(other, one)
  }

  private mutating func number(device id: Int) -> Int {
    if let known = deviceIndex[id] { return known }
    deviceIndex[id] = deviceIDs.count
    deviceIDs.append(id)
    owner.append(-1)
    logs.append([])
    return deviceIDs.count - 1
  }

  private mutating func number(person id: Int) -> Int {
    if let known = personIndex[id] { return known }
    personIndex[id] = personIDs.count
    personIDs.append(id)
    return personIDs.count - 1
  }

  private mutating func move(_ act: Act) -> Move {
    switch act.deed {
    case .found: .found
    case .invite(let id, _, _, _, _, _): .invite(link: linkIndex[id] ?? -1)
    case .close(let id): .close(link: linkIndex[id] ?? -1)
    case .join(let id, let person):
      .join(link: linkIndex[id] ?? -1, person: number(person: person))
    case .admit(let id, let device, let person):
      .admit(
        link: linkIndex[id] ?? -1, device: number(device: device),
        person: number(person: person))
    case .confirm(let device): .confirm(device: number(device: device))
    case .confirmHandover(let accept): .confirmHandover(accept: actIndex[accept] ?? -1)
    case .remove(let person): .remove(person: number(person: person))
    case .revoke(let device): .revoke(device: number(device: device))
    case .setRole(let person, let role):
      .setRole(person: number(person: person), role: role)
    case .leave: .leave
    case .setWords(let words, let consent): .setWords(words, consent: consent)
    case .recover(let person, let words, let others):
      .recover(person: number(person: person), words: words, revokingOthers: others)
    case .offer(let person, let words): .offer(person: number(person: person), words: words)
    case .withdraw: .withdraw
    case .accept(let offer): .accept(offer: actIndex[offer] ?? -1)
    case .seal(_, let devices): .seal(devices: devices.map { number(device: $0) })
    case .heartbeat: .heartbeat
    }
  }

  /// Reads the claims of an act: its past and whether it is closed.
  ///
  /// What does not exist yet cannot be cited.
  private mutating func read(_ act: Act, _ time: Int, _ place: Int) {
    var seen = Bits()
    var isClosed = act.sequence == logs[place].count
    for earlier in logs[place] { seen[earlier] = true }
    for id in act.claims.keys.sorted() {
      let count = act.claims[id] ?? 0
      guard count > 0 else { continue }
      let log = deviceIndex[id].map { logs[$0] } ?? []
      if count > log.count || id == act.device { isClosed = false }
      for earlier in log.prefix(count) { seen[earlier] = true }
    }
    var needed = Bits()
    seen.forEach { needed.add(past[$0]) }
    if !needed.isInside(seen) { isClosed = false }
    past.append(seen)
    closed.append(isClosed)
  }

  private mutating func findOwner(_ time: Int, _ place: Int) {
    let entry: (Int, Int)?
    switch moves[time] {
    case .found: entry = deviceIDs[place] == 0 ? (place, 0) : nil
    case .join(_, let person): entry = (place, person)
    case .recover(let person, _, _): entry = (place, person)
    case .admit(_, let newcomer, let person): entry = (newcomer, person)
    default: entry = nil
    }
    guard let (newcomer, person) = entry else { return }
    if owner[newcomer] == -1 { owner[newcomer] = person }
    if owner[newcomer] != person { isStrange = true }
  }
}
