import ArgumentParser
import Hearth
import HearthCRDT
import HearthMembership
import HearthSync

/// Looks for faults, and shows the remedies.
struct DoctorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor", abstract: "Look for faults, and show how to repair them.",
    discussion: """
      Checks the data, permissions, clocks, forks, copies of this device, transports and what they
      lack, households that no transport carries, every file of the shared folders, changes of
      others that do not arrive, recovery bundles, whether this device still belongs to its
      households, invalid entries of members, and free space.
      Exit code 7 if data is damaged, 2 if something else needs your attention. Advice, such as to
      make recovery words, changes no exit code.
      """)

  @OptionGroup var options: CommonOptions

  private struct Document: Encodable {
    let findings: [DoctorFinding]
    /// What is no fault, but could be safer.
    let advice: [DoctorFinding]
  }

  private static let wantedFreeBytes: UInt64 = 200 * 1024 * 1024

  func run() async throws {
    let node = try await options.open()
    var findings = try await data(of: node)
    findings += try await surroundings(of: node)
    findings += try await others(of: node)
    let advice = try await advice(for: node)
    try await node.close()
    try tell(findings, advice)
    guard !findings.isEmpty else { return }
    let isDamaged = findings.contains(where: \.isDamage)
    throw ExitCode((isDamaged ? ExitStatus.corrupt : .partial).rawValue)
  }

  private func tell(_ findings: [DoctorFinding], _ advice: [DoctorFinding]) throws {
    if options.json {
      return try Output.json(Document(findings: findings, advice: advice))
    }
    if findings.isEmpty {
      Output.print(
        Style.green("all is well")
          + ": data, permissions, clocks, forks, transports, their files, changes of others, "
          + "recovery bundles, free space")
    } else {
      for finding in findings {
        let colour = finding.isDamage ? Style.red : Style.yellow
        Output.print("\(colour(finding.topic)): \(Style.safe(finding.text))")
        Output.print("  remedy: \(Style.safe(finding.remedy))")
      }
    }
    for item in advice {
      Output.print("advice: \(Style.safe(item.text))")
      Output.print("  how: \(Style.safe(item.remedy))")
    }
  }

  /// What could be safer: recovery words are optional, so lacking them is no fault.
  private func advice(for node: Node) async throws -> [DoctorFinding] {
    guard try await node.recovery.state() == .none else { return [] }
    var isMember = false
    for zone in await node.dataZones() where zone.database == .shared {
      if try await node.ending(in: zone.group) == nil { isMember = true }
    }
    guard isMember else { return [] }
    return [
      DoctorFinding(
        "words",
        "you have no recovery words: if you lose all your devices, nobody can give you back your "
          + "place and your private data",
        remedy: "`hearth words show` in a terminal")
    ]
  }

  private func data(of node: Node) async throws -> [DoctorFinding] {
    let result = try await node.integrity.verify()
    let remedy =
      "keep a copy of the home folder, then `hearth verify --repair`; if that does not help, join "
      + "again from another device of the household"
    return result.fileFaults.map { DoctorFinding("data", isDamage: true, $0, remedy: remedy) }
      + result.zones.flatMap { zone in
        zone.faults.map {
          DoctorFinding(
            "data", isDamage: true, "\(CheckText.name(zone.zone)): \($0)", remedy: remedy)
        }
      }
  }

  private func surroundings(of node: Node) async throws -> [DoctorFinding] {
    var findings = try await node.diagnostics.permissionFaults().map { fault in
      let wanted = String(fault.wanted, radix: 8)
      return DoctorFinding(
        "permissions", "\(fault.path) is open to others (mode \(String(fault.mode, radix: 8)))",
        remedy: "chmod \(wanted) '\(fault.path)'")
    }
    for clock in try await node.diagnostics.clocks() {
      findings.append(
        DoctorFinding(
          "clock", ClockText.line(clock),
          remedy: "set date and time from the network on that device, and on this one"))
    }
    if let free = try await node.diagnostics.freeBytes(), free < DoctorCommand.wantedFreeBytes {
      findings.append(
        DoctorFinding(
          "space", "only \(free / 1_048_576) MB are free on the disk of this node",
          remedy: "free some space: this node cannot write or receive on a full disk"))
    }
    return findings
  }

  private func others(of node: Node) async throws -> [DoctorFinding] {
    var findings: [DoctorFinding] = []
    for status in try await node.diagnostics.zones() {
      let membership = try await node.membership(of: status.zone.group)
      findings += Self.contradictions(in: status, membership)
      findings += Self.newerSegments(in: status, membership)
    }
    for transport in try await node.transports.statuses() {
      if let problem = transport.oldKeys {
        findings.append(
          DoctorFinding("transport", "\(problem.place): \(problem.fault)", remedy: problem.remedy))
      }
      findings += Self.failures(of: transport)
    }
    findings += try await strandedZones(of: node) + (try await endings(on: node))
    if let copy = try await node.diagnostics.copy() {
      findings.append(DoctorFinding("copy", copy.fault, remedy: copy.remedy))
    }
    findings += try await damagedFiles(of: node)
    findings += try await withheld(from: node) + (try await capsules(of: node))
    return findings + (try await HouseholdFindings.all(on: node))
  }

  /// The authors in a zone with two histories, or with claims that cannot be true.
  private static func contradictions(
    in status: ZoneStatus, _ membership: Membership
  ) -> [DoctorFinding] {
    var findings: [DoctorFinding] = []
    for author in status.forks {
      let name = membership.device(author.device)?.card.name ?? "an unknown device"
      findings.append(
        DoctorFinding(
          "fork",
          "\(name) (\(author)) published two different histories in "
            + CheckText.name(status.zone),
          remedy: "find out whether that device was copied or restored; a sync on it starts a "
            + "new incarnation"))
    }
    for claim in status.falseClaims {
      findings.append(
        DoctorFinding(
          "claim", "\(CheckText.name(status.zone)): \(claim)",
          remedy:
            "find out what program runs there; an owner or admin can remove that person, or "
            + "`hearth sync` again if that device or this one was copied or restored"))
    }
    return findings
  }

  /// The segments of a zone that a newer version of this program wrote.
  private static func newerSegments(
    in status: ZoneStatus, _ membership: Membership
  ) -> [DoctorFinding] {
    let names = status.newer.map { membership.device($0)?.card.name ?? ShortID.text($0) }
    let sources = names.isEmpty ? "" : ", apparently from \(names.joined(separator: ", ")),"
    return status.waiting.filter { $0.reason == .format }.map { item in
      DoctorFinding(
        "version",
        "\(Words.count(item.count, "segment")) of \(CheckText.name(status.zone))\(sources) "
          + "need a newer version of this program",
        remedy: "update this program; if there is no newer one, somebody forged them")
    }
  }

  /// The files in shared folders that cannot be used.
  private func damagedFiles(of node: Node) async throws -> [DoctorFinding] {
    var findings: [DoctorFinding] = []
    for (folder, problems) in try await node.transports.damagedFiles() {
      // Problems with the same remedy are one finding.
      for remedy in Set(problems.map(\.remedy)).sorted() {
        let alike = problems.filter { $0.remedy == remedy }
        findings.append(
          DoctorFinding(
            "files",
            "\(Words.count(alike.count, "file")) in \(folder) cannot be used, the first: "
              + "\(alike[0].fault)", remedy: remedy))
      }
    }
    return findings
  }

  /// The failures of one transport, now or in the last round.
  private static func failures(of transport: TransportStatus) -> [DoctorFinding] {
    let (number, isRelay) = (transport.setting.number, transport.setting.kind == .relay)
    let orRemove = ", or `hearth transport remove \(number)`"
    if let failure = transport.failure {
      let remedy =
        transport.refusalRemedy
        ?? (isRelay ? "start the relay or check the network" : "make the folder reachable")
      // The remedy has its own line.
      let isTwice = failure.hasSuffix("; " + remedy)
      return [
        DoctorFinding(
          "transport", String(failure.dropLast(isTwice ? remedy.count + 2 : 0)),
          remedy: transport.isMistrusted ? remedy : remedy + orRemove)
      ]
    }
    if let fault = transport.fault {
      return [
        DoctorFinding(
          "transport", fault,
          remedy: "free space or let this user write there, then `hearth sync`" + orRemove)
      ]
    }
    guard let last = transport.lastFailure else {
      guard let missing = transport.unpublished, missing > 0 else { return [] }
      return [
        DoctorFinding(
          "transport",
          "\(transport.setting.path) lacks \(Words.count(missing, "segment")) that this device has",
          remedy: "`hearth sync` publishes \(missing == 1 ? "it" : "them") there (again)")
      ]
    }
    return [
      DoctorFinding(
        "transport",
        "\(transport.setting.path): syncs have been incomplete since "
          + "\(MomentText.iso(last.milliseconds)): \(last.text)",
        remedy: "follow this message, then `hearth sync`" + orRemove)
    ]
  }

  /// The zones that no transport carries, so that nobody else has them.
  private func strandedZones(of node: Node) async throws -> [DoctorFinding] {
    let stranded = try await StrandedText.items(on: node)
    if !stranded.isEmpty {
      return stranded.map {
        DoctorFinding(
          "transport",
          "none of your transports carries \($0.name): nobody else receives its new changes, "
            + "and recovery words cannot restore it",
          remedy: $0.remedy + ", then `hearth sync`")
      }
    }
    guard try await node.transports.list().isEmpty else { return [] }
    var findings: [DoctorFinding] = []
    for status in try await node.diagnostics.zones()
    where status.zone.kind == .data && status.zone.database == .shared && status.unsynced > 0 {
      guard try await node.ending(in: status.zone.group) == nil else { continue }
      findings.append(
        DoctorFinding(
          "transport",
          "there is no transport: \(Words.count(status.unsynced, "change")) of "
            + "\(CheckText.name(status.zone)) \(status.unsynced == 1 ? "is" : "are") only on this "
            + "device",
          remedy: StrandedText.howToAdd + ", then `hearth sync`"))
    }
    return findings
  }

  /// The households from which this device is removed, or whose others reject it.
  private func endings(on node: Node) async throws -> [DoctorFinding] {
    var findings: [DoctorFinding] = []
    for zone in await node.dataZones() where zone.database == .shared {
      if let ending = try await node.ending(in: zone.group) {
        let standing = try await StandingText.Document(of: zone, on: node)
        let own = standing.ownQuarantined > 0
        findings.append(
          DoctorFinding(
            "membership",
            EndingText.line(ending, household: zone.name)
              + ": you keep the data on this device and receive nothing new"
              + (own ? "; \(StandingText.lost(standing))" : ""),
            remedy: EndingText.remedy(ending, hasOthers: try await hasOthers(zone, on: node))))
      } else if let reason = try await node.people.entryRefusal(to: zone.group) {
        findings.append(
          DoctorFinding(
            "membership",
            "\(CheckText.name(zone)): this device joined, but the others reject it: \(reason)",
            remedy: "ask for a new invitation, and `hearth join -` with it"))
      }
    }
    guard let standing = try await node.privateDatabase.status(), let ending = standing.ending
    else {
      return findings
    }
    return findings + [
      DoctorFinding(
        "membership",
        EndingText.line(ending, household: "your private database") + ": it receives nothing new",
        remedy: standing.devices.isEmpty
          ? EndingText.recovering
          : "\(EndingText.remedyWithoutPrivate); if you have no other one, \(EndingText.recovering)"
      )
    ]
  }

  /// Whether another device of this node's person is known to belong to a household.
  private func hasOthers(_ zone: ZoneState, on node: Node) async throws -> Bool {
    let membership = try await node.membership(of: zone.group)
    let own = membership.device(await node.device)?.person
    return membership.devices.contains { $0.person == own }
  }

  /// The changes that others claim to have seen and no transport delivered to this device.
  private func withheld(from node: Node) async throws -> [DoctorFinding] {
    let kinds = try await node.transports.list().map(\.kind.rawValue)
    var findings: [DoctorFinding] = []
    for zone in await node.dataZones() where zone.database == .shared {
      if try await node.diagnostics.awaitsSnapshot(in: zone.group),
        try await node.ending(in: zone.group) == nil
      {
        findings.append(
          DoctorFinding(
            "newcomer", "\(CheckText.name(zone)): \(StandingText.lacking)",
            remedy: StandingText.remedyOfLacking(
              from: try await node.diagnostics.awaitedSnapshotAuthors(in: zone.group))))
      }
      if let refuted = try await node.diagnostics.refutedSnapshot(in: zone.group) {
        findings.append(
          DoctorFinding(
            "snapshot",
            "\(CheckText.name(zone)): this device started from a snapshot by "
              + "\(Style.safe(refuted.maker)), but "
              + "\(Style.safe(refuted.others.joined(separator: " and "))) attested something else",
            remedy:
              "ask both, compare with `hearth digest`, and join again with a link from the one "
              + "you trust"))
      }
      findings += try await node.diagnostics.stateDifferences(in: zone.group).map {
        DoctorFinding(
          "difference",
          "\(CheckText.name(zone)): \(Style.safe($0.name)) has the same changes as this device but "
            + "reports other records",
          remedy: "run `hearth verify` and `hearth digest` on both to find the wrong one; "
            + "`hearth verify --repair` repairs damage from a disk")
      }
      findings += try await StandingText.withheld(of: zone, on: node).map {
        DoctorFinding(
          "withheld", StandingText.line($0, kinds: kinds), remedy: StandingText.remedy($0))
      }
    }
    return findings
  }

  /// The faults of recovery bundles, which keep recovery words from working.
  private func capsules(of node: Node) async throws -> [DoctorFinding] {
    guard let standing = try await node.recovery.bundleStatus() else { return [] }
    guard standing.isLocationKnown else {
      return [
        DoctorFinding(
          "words",
          "this device does not know where your recovery bundle is, and cannot check it",
          remedy: "`hearth words check` with your words finds it; or `hearth sync` on a device "
            + "that knows the place, then here")
      ]
    }
    return standing.transports.compactMap { place, state in
      RecoveryBundleStatus.fault(of: state).map {
        DoctorFinding("words", "\(place): \($0)", remedy: "`hearth sync` here writes it again")
      }
    }
  }
}
