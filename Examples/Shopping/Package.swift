// swift-tools-version: 6.2
import PackageDescription

// An application of its own: outside of Hearth's checkout, `path` becomes a `url`.
let package = Package(
  name: "Shopping",
  dependencies: [.package(name: "hearth", path: "../..")],
  targets: [
    .target(
      name: "ShoppingModel", dependencies: [.product(name: "Hearth", package: "hearth")],
      path: "Sources/ShoppingModel"),
    .executableTarget(
      name: "Shopping", dependencies: ["ShoppingModel"], path: "Sources/Shopping"),
    .testTarget(
      name: "ShoppingModelTests",
      dependencies: ["ShoppingModel", .product(name: "HearthTesting", package: "hearth")],
      path: "Tests"),
  ])
