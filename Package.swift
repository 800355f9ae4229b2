// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// The plugins, each with the clients that it uses and those that its tests use.
let plugins = [
  plugin(
    "Markbook", using: ["CZip", "Calendars", "HTTPClient", "HTTPServer"], tests: ["HTTPClient", "HTTPServer"])
]

/// How the shipped program is linked, for its start and its size: without the table of symbols that only shared
/// libraries would look for, with relative relocations packed (glibc 2.36), and with C++'s library inside.
let shippedLinking = [
  "-use-ld=lld", "-Xlinker", "--no-export-dynamic", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
  "-Xclang-linker", "-static-libgcc", "-Xclang-linker", "-L\(Context.packageDirectory)/Sources/CRE2/Linking",
]

let package = Package(
  name: "errand",
  products: [.executable(name: "errand", targets: ["errand"])] + plugins.map(\.library),
  targets: [
    // MARK: C libraries, one target each; no C type leaves the Swift target that wraps it.
    .systemLibrary(name: "CLibYAML"),
    .target(name: "CCrypto"),
    .target(name: "CCurl"),
    .target(name: "CMicroHTTPD"),
    .target(
      name: "CRE2", cxxSettings: [.unsafeFlags(["-std=c++17"])],
      linkerSettings: [.linkedLibrary(":libre2.a"), .linkedLibrary("stdc++")]),
    .target(name: "CZip"),

    // MARK: Values, files and languages
    .target(name: "Basics"),
    .target(name: "Calendars", dependencies: ["Basics"]),
    .target(name: "ExpressionTestKit", dependencies: ["Basics", "Expressions"]),
    .target(name: "Expressions", dependencies: ["Basics", "CRE2", "Calendars"]),
    .target(name: "YAMLReader", dependencies: ["Basics", "CLibYAML"]),

    // MARK: What plugins are made of
    .target(name: "ActionKit", dependencies: ["Basics"]),
    .target(name: "ActionTestKit", dependencies: ["ActionKit", "YAMLReader"]),
    .target(name: "HTTPClient", dependencies: ["Basics", "CCrypto", "CCurl", "HTTPTypes"]),
    .target(name: "HTTPServer", dependencies: ["Basics", "CMicroHTTPD", "HTTPTypes"]),
    .target(name: "HTTPTypes", dependencies: ["Basics"]),

    // MARK: The runtime
    .target(name: "Recipes", dependencies: ["ActionKit", "Basics", "Calendars", "Expressions", "YAMLReader"]),
    .target(name: "RunState", dependencies: ["Basics", "CCrypto"]),
    .target(name: "Runs", dependencies: ["ActionKit", "Basics", "Calendars", "Recipes", "RunState"]),
    .target(name: "Agent", dependencies: ["Basics", "Recipes", "RunState", "Runs"]),

    // MARK: Programs
    .target(name: "CommandLineParser", dependencies: ["Basics"]),
    .target(name: "PluginList", dependencies: ["ActionKit"] + plugins.map(\.dependency)),
    .executableTarget(
      name: "errand",
      dependencies: [
        "ActionKit", "Agent", "Basics", "CommandLineParser", "Expressions", "PluginList", "Recipes", "RunState", "Runs",
        "YAMLReader",
      ], linkerSettings: [.unsafeFlags(shippedLinking, .when(platforms: [.linux], configuration: .release))]),
    .executableTarget(
      name: "errand-dev",
      dependencies: [
        "ActionKit", "Basics", "Calendars", "CommandLineParser", "ExpressionTestKit", "Expressions", "PluginList",
        "Recipes",
      ]),

    // MARK: Benchmarks
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "ActionKit", "Basics", "CBaselines", "Calendars", "Expressions", "HTTPClient", "HTTPServer", "Recipes",
        "RunState", "Runs", "YAMLReader",
      ],
      path: "Benchmarks/Rows"),
    .target(
      name: "CBaselines", path: "Benchmarks/CBaselines",
      linkerSettings: [.linkedLibrary(":libyaml.a"), .linkedLibrary("curl")]),

    // MARK: Tests
    .tests(of: "ActionKit", "ActionTestKit"),
    .tests(of: "ActionTestKit", "ActionKit"),
    .tests(of: "Agent", "Basics"),
    .tests(of: "Basics"),
    .tests(of: "CCrypto"),
    .tests(of: "CZip"),
    .tests(of: "Calendars", "Basics"),
    .tests(of: "CommandLineParser", "Basics"),
    .tests(of: "ExpressionTestKit", "Basics"),
    .tests(of: "Expressions", "Basics", "ExpressionTestKit"),
    .tests(of: "HTTPClient", "Basics", "HTTPServer"),
    .tests(of: "HTTPServer", "Basics"),
    .tests(of: "HTTPTypes", "Basics"),
    .tests(of: "Recipes", "ActionKit", "Basics", "MarkbookPlugin"),
    .tests(of: "RunState", "Basics"),
    .tests(of: "Runs", "ActionKit", "ActionTestKit", "Basics", "Recipes", "RunState"),
    .tests(of: "YAMLReader", "Basics"),
    .tests(of: "errand", "ActionKit", "Basics", "CommandLineParser", "HTTPClient", "MarkbookPlugin"),
    .tests(of: "errand-dev", "Basics"),
  ] + plugins.flatMap(\.targets)
)

extension Target {
  /// The tests of a target, which see it and what they name.
  static func tests(of target: String, _ others: Target.Dependency...) -> Target {
    .testTarget(name: "\(target)Tests", dependencies: [.byName(name: target)] + others)
  }

  var folder: String { path ?? "\(type == .test ? "Tests" : "Sources")/\(name)" }
}

/// The plugin in Plugins/<name> and its tests.
///
/// A plugin sees ActionKit, which hands on Basics, and the clients it names; never the runtime or another plugin.
func plugin(
  _ name: String, using clients: [Target.Dependency], tests others: [Target.Dependency]
) -> (library: Product, dependency: Target.Dependency, targets: [Target]) {
  let module = "\(name)Plugin"
  return (
    .library(name: module, targets: [module]), .byName(name: module),
    [
      .target(name: module, dependencies: ["ActionKit"] + clients, path: "Plugins/\(name)"),
      .testTarget(
        name: "\(module)Tests", dependencies: ["ActionKit", "ActionTestKit", .byName(name: module)] + others),
    ]
  )
}

// Fuzzers are built with sanitizers, and so apart from everything else: `make fuzz` asks for them.
if Context.environment["ERRAND_FUZZ"] != nil {
  package.targets += [
    .systemLibrary(name: "CFuzzer", path: "Fuzz/CFuzzer"),
    .executableTarget(name: "Fuzz", dependencies: ["Basics", "CFuzzer", "Expressions"], path: "Fuzz/Targets"),
  ]
}

for target in package.targets where target.type != .system {
  // What stands beside sources and is none: pages for people, and what tests read by `#filePath`.
  target.exclude = ["README.md", "Fixtures", "Linking", "Snapshots"].filter {
    FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(target.folder)/\($0)")
  }
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  ]
}
