// swift-tools-version: 6.2
import PackageDescription

// An application of its own: outside of Hearth's checkout, `path` becomes a `url`.
let package = Package(
  name: "Notes",
  dependencies: [.package(name: "hearth", path: "../..")],
  targets: [
    .executableTarget(
      name: "Notes", dependencies: [.product(name: "Hearth", package: "hearth")], path: "Sources")
  ])
