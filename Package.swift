// swift-tools-version: 6.2
import PackageDescription

// One table of targets. What each may import is written once more, for people, in
// docs/internals/architecture.md, and checked by Tests/TidyTests.

/// Whether the simulator is built, and everything for it.
let isSimulation = Context.environment["HEARTH_SIMULATION"] != nil

/// Whether `hearth-relay` can keep its log in PostgreSQL: `HEARTH_POSTGRES=off` builds it without,
/// where there is no libpq.
let hasPostgres = Context.environment["HEARTH_POSTGRES"] != "off"

/// Settings of every Swift target.
///
/// `HEARTH_STRICT=1` (CI) turns warnings into errors; it is off
/// by default so that a newer compiler's new warning never breaks somebody's build.
///
/// `HEARTH_SIMULATION=1` compiles in what only simulations may have: seeded randomness, probes and
/// seeded bugs. Such a build goes into a folder of its own; see `make simulate`.
let settings: [SwiftSetting] =
  [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  ] + (Context.environment["HEARTH_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])
  + (isSimulation ? [.define("HEARTH_SIMULATION")] : [])

let package = Package(
  name: "hearth",
  products: [
    .library(name: "Hearth", targets: ["Hearth"]),
    .library(name: "HearthTesting", targets: ["HearthTesting"]),
    .executable(name: "hearth", targets: ["hearth-cli"]),
    .executable(name: "hearth-relay", targets: ["hearth-relay"]),
  ],
  dependencies: [
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
    .systemLibrary(
      name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "CMalloc"),
    .systemLibrary(name: "CProcess"),
    .target(name: "HearthCRDT", swiftSettings: settings),
    .target(
      name: "HearthCrypto", dependencies: ["CSodium", "CZstd", "CProcess"],
      swiftSettings: settings),
    .target(
      name: "HearthMembership", dependencies: ["HearthCRDT", "HearthCrypto"],
      swiftSettings: settings),
    .target(
      name: "HearthSync", dependencies: ["HearthCRDT", "HearthCrypto", "HearthMembership"],
      swiftSettings: settings),
    .target(
      name: "HearthRelayProtocol",
      dependencies: ["HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync"],
      swiftSettings: settings),
    .target(
      name: "HearthStore",
      dependencies: [
        "HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync", "HearthRelayProtocol",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ], swiftSettings: settings),
    .target(
      name: "HearthTransport",
      dependencies: [
        "HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync", "HearthRelayProtocol",
      ], swiftSettings: settings),
    .target(
      name: "HearthSockets",
      dependencies: [
        "HearthCRDT", "HearthCrypto", "HearthSync", "HearthRelayProtocol", "HearthTransport",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOTLS", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], swiftSettings: settings),
    .target(
      name: "HearthRelayCore",
      dependencies: [
        "HearthCRDT", "HearthCrypto", "HearthSync", "HearthRelayProtocol",
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ], swiftSettings: settings),
    .target(
      name: "HearthRelay",
      dependencies: [
        "HearthCRDT", "HearthCrypto", "HearthSync", "HearthRelayProtocol", "HearthRelayCore",
        "CMalloc",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], swiftSettings: settings),
    .target(
      name: "HearthRelayPostgres",
      dependencies: [
        "HearthCRDT", "HearthCrypto", "HearthSync", "HearthRelayProtocol", "HearthRelayCore",
        "CPostgres", .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: settings),
    .target(
      name: "Household", dependencies: ["HearthCRDT", "HearthMembership", "HearthSync"],
      swiftSettings: settings),
    .target(
      name: "Hearth",
      dependencies: [
        "HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync", "HearthRelayProtocol",
        "HearthStore", "HearthTransport", "HearthSockets", "CProcess",
      ], swiftSettings: settings),
    .target(
      name: "HearthTesting",
      dependencies: ["Hearth", "HearthCRDT", "HearthMembership", "HearthSync"],
      swiftSettings: settings),
    .target(
      name: "HearthCLI",
      dependencies: [
        "Hearth", "Household", "HearthCRDT", "HearthMembership", "HearthSync",
        "HearthRelayProtocol", "CQREncode",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: settings),
    .executableTarget(
      name: "hearth-cli",
      dependencies: [
        "HearthCLI", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: settings),
    .executableTarget(
      name: "hearth-relay",
      dependencies: [
        "HearthRelay", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ] + (hasPostgres ? ["HearthRelayPostgres"] : []),
      swiftSettings: settings + (hasPostgres ? [.define("HEARTH_POSTGRES")] : [])),
    .executableTarget(
      name: "hearth-bench",
      dependencies: [
        "Hearth", "Household", "HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync",
        "HearthStore", "CZstd",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ], path: "Benchmarks/Sources/hearth-bench", swiftSettings: settings),
    .executableTarget(
      name: "relay-bench",
      dependencies: [
        "HearthCRDT", "HearthCrypto", "HearthRelay", "HearthRelayCore", "HearthRelayProtocol",
        "HearthSync",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], path: "Benchmarks/Sources/relay-bench", swiftSettings: settings),
    .target(
      name: "CSimVFS", dependencies: [.product(name: "GRDBSQLite", package: "GRDB.swift")],
      path: "Simulations/Sources/CSimVFS"),
    .target(
      name: "SimDisk",
      dependencies: ["CSimVFS", .product(name: "GRDBSQLite", package: "GRDB.swift")],
      path: "Simulations/Sources/SimDisk", swiftSettings: settings),
    .target(
      name: "InlineExecution", dependencies: ["HearthCRDT", "HearthMembership", "HearthSync"],
      path: "Simulations/Sources/InlineExecution", swiftSettings: settings),
    .target(
      name: "TestSupport",
      dependencies: ["HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync"],
      path: "Tests/TestSupport", swiftSettings: settings),
    .testTarget(
      name: "HearthCRDTTests", dependencies: ["HearthCRDT", "TestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "HearthCryptoTests", dependencies: ["HearthCrypto", "TestSupport"],
      swiftSettings: settings),
    .target(
      name: "MembershipPromises", path: "Tests/MembershipPromises", swiftSettings: settings),
    .target(
      name: "PromiseTranslation",
      dependencies: ["MembershipPromises", "HearthMembership", "HearthCRDT", "HearthCrypto"],
      path: "Tests/PromiseTranslation", swiftSettings: settings),
    .executableTarget(
      name: "membership-promises",
      dependencies: [
        "MembershipPromises", "PromiseTranslation",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], path: "Tests/PromiseRunner", swiftSettings: settings),
    .testTarget(
      name: "HearthMembershipTests",
      dependencies: [
        "HearthMembership", "HearthCRDT", "HearthCrypto", "MembershipPromises",
        "PromiseTranslation", "TestSupport",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HearthSyncTests",
      dependencies: [
        "InlineExecution", "HearthMembership", "HearthSync", "HearthCRDT", "HearthCrypto",
        "Household", "TestSupport",
      ],
      exclude: ["Golden"],
      swiftSettings: settings),
    .testTarget(
      name: "HearthRelayProtocolTests",
      dependencies: [
        "HearthRelayProtocol", "HearthSync", "HearthCRDT", "HearthCrypto", "TestSupport",
      ], swiftSettings: settings),
    .testTarget(
      name: "HearthStoreTests",
      dependencies: [
        "HearthStore", "HearthMembership", "HearthSync", "HearthCRDT", "HearthCrypto",
        "TestSupport",
        .product(name: "GRDB", package: "GRDB.swift"),
      ], exclude: ["Golden"], swiftSettings: settings),
    .testTarget(
      name: "HearthTests",
      dependencies: [
        "InlineExecution", "Hearth", "Household", "HearthStore", "HearthMembership", "HearthSync",
        "HearthCRDT",
        "HearthCrypto", "HearthTransport", "HearthSockets", "HearthRelay", "HearthRelayCore",
        "HearthRelayProtocol", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ], swiftSettings: settings),
    .testTarget(
      name: "HearthTestingTests", dependencies: ["Hearth", "HearthTesting"],
      swiftSettings: settings),
    .testTarget(
      name: "HearthTransportTests",
      dependencies: [
        "InlineExecution", "HearthTransport", "HearthRelay", "HearthRelayCore",
        "HearthRelayProtocol", "HearthMembership", "HearthSync",
        "HearthCRDT", "HearthCrypto", "TestSupport",
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "HearthRelayTests",
      dependencies: [
        "InlineExecution", "HearthRelay", "HearthRelayCore", "HearthRelayPostgres",
        "HearthRelayProtocol",
        "hearth-relay",
        "HearthMembership", "HearthSync", "HearthCRDT", "HearthCrypto", "TestSupport",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], swiftSettings: settings),
    .testTarget(
      name: "HouseholdTests",
      dependencies: ["Household", "HearthCRDT", "HearthMembership", "HearthSync", "TestSupport"],
      exclude: ["Oracles"],
      swiftSettings: settings),
    .testTarget(
      name: "HearthCLITests",
      dependencies: [
        "InlineExecution", "HearthCLI", "Hearth", "Household", "HearthCRDT", "HearthMembership",
        "HearthSync",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "SimDiskTests",
      dependencies: [
        "InlineExecution", "SimDisk", "HearthStore", "HearthMembership", "HearthSync", "Household",
        "TestSupport",
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ], path: "Simulations/Tests/SimDiskTests", swiftSettings: settings),
    .testTarget(name: "TidyTests", swiftSettings: settings),
    .target(
      name: "FamilyModel", path: "Simulations/Sources/FamilyModel", swiftSettings: settings),
    .target(
      name: "FamilyTranslation",
      dependencies: ["FamilyModel", "Household", "HearthMembership", "HearthSync", "HearthCRDT"],
      path: "Simulations/Sources/FamilyTranslation", swiftSettings: settings),
    .testTarget(
      name: "FamilyModelTests", dependencies: ["FamilyModel"],
      path: "Simulations/Tests/FamilyModelTests", swiftSettings: settings),
    .testTarget(
      name: "FamilyModelAgreementTests",
      dependencies: [
        "FamilyModel", "FamilyTranslation", "Household", "HearthSync", "HearthCRDT", "TestSupport",
      ],
      path: "Simulations/Tests/FamilyModelAgreementTests", swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)

// Tests that try every order of small histories take minutes in modules that are not optimised.
// Overflow and preconditions are checked all the same.
if Context.environment["HEARTH_STRICT"] != nil {
  let optimised: Set = [
    "HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync", "Household", "TestSupport",
    "HearthCRDTTests", "MembershipPromises", "PromiseTranslation", "FamilyModel",
    "FamilyTranslation",
  ]
  for target in package.targets where optimised.contains(target.name) {
    target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-O"])]
  }
}

if isSimulation {
  package.targets += [
    .target(
      name: "HostileMember",
      dependencies: [
        "HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync", "Household",
      ], path: "Simulations/Sources/HostileMember", swiftSettings: settings),
    .executableTarget(
      name: "hearth-hostile",
      dependencies: [
        "InlineExecution", "HostileMember", "HearthCRDT", "HearthCrypto", "HearthMembership",
        "HearthSync",
        "HearthStore", "HearthTransport", "HearthSockets", "HearthRelayProtocol", "Household",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], path: "Simulations/Sources/hearth-hostile", swiftSettings: settings),
    .target(
      name: "HearthSim",
      dependencies: [
        "InlineExecution", "HearthCRDT", "HearthCrypto", "HearthMembership", "HearthSync",
        "HearthStore",
        "HearthTransport", "HearthRelayCore", "HearthRelayProtocol",
        "Household", "SimDisk", "FamilyModel", "FamilyTranslation", "HostileMember",
      ], path: "Simulations/Sources/HearthSim", swiftSettings: settings),
    .executableTarget(
      name: "hearth-sim",
      dependencies: [
        "HearthSim", "MembershipPromises", "PromiseTranslation",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], path: "Simulations/Sources/hearth-sim", swiftSettings: settings),
    .testTarget(
      name: "HearthSimTests",
      dependencies: [
        "InlineExecution", "HearthSim", "HearthCRDT", "HearthMembership", "HearthSync",
      ],
      path: "Simulations/Tests/HearthSimTests", swiftSettings: settings),
  ]
}
