// swift-tools-version: 6.2
import PackageDescription

// An application of its own: outside of Hearth's checkout, `path` becomes a `url`.
let package = Package(
  name: "Chat",
  dependencies: [.package(name: "hearth", path: "../..")],
  targets: [
    .executableTarget(
      name: "Chat", dependencies: [.product(name: "Hearth", package: "hearth")], path: "Sources")
  ])
