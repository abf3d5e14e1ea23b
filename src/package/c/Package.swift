// swift-tools-version:5.5
// sampling.h for Swift: import CSampling. The target is this folder's one C file and its header.
import PackageDescription

let package = Package(
    name: "sampling",
    products: [.library(name: "CSampling", targets: ["CSampling"])],
    targets: [
        .target(
            name: "CSampling", path: ".", sources: ["sampling.c"], publicHeadersPath: "swift",
            cSettings: [.headerSearchPath(".")],
            linkerSettings: [.linkedLibrary("m", .when(platforms: [.linux]))])
    ],
    cLanguageStandard: .c11
)
