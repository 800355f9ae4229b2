// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// The plugins, each with the clients that it uses and those that its tests use.
let plugins = [
  plugin("CSV", using: ["LocalFiles"], tests: ["LocalFiles"]),
  plugin("Files", using: ["LocalFiles"], tests: ["LocalFiles"]),
  plugin(
    "HTTP", using: ["HTTPClient", "LocalFiles", "SandboxKit"], tests: ["HTTPClient", "LocalFiles", "SandboxKit"]),
  plugin(
    "InterviewPrep", using: ["HTTPClient", "SandboxKit"],
    tests: [
      "Basics", "FilesPlugin", "HTTPClient", "LocalFiles", "Recipes", "RunState", "RunTestKit", "Runs", "SandboxKit",
      "StorePlugin",
    ]),
  plugin("JSONText", using: ["LocalFiles"], tests: ["LocalFiles"]),
  plugin(
    "Mail", using: ["HTTPClient", "HTTPTypes", "LocalFiles", "SMTPClient", "SandboxKit"],
    tests: ["HTTPClient", "ProcessTestKit", "Recipes", "RunState", "RunTestKit"]),
  plugin(
    "Markbook", using: ["Calendars", "HTTPClient", "LocalFiles", "SandboxKit"],
    tests: ["Basics", "HTTPClient", "Recipes", "RunState", "RunTestKit", "Runs", "SandboxKit"]),
  plugin(
    "Notify", using: ["HTTPClient", "SandboxKit"],
    tests: ["HTTPClient", "Recipes", "RunState", "RunTestKit", "SandboxKit"]),
  plugin("Report", using: [], tests: []),
  plugin(
    "Shell", using: ["ChildProcesses", "HTTPClient", "LocalFiles", "SandboxKit"],
    tests: ["HTTPClient", "Recipes", "RunState", "RunTestKit"]),
  plugin(
    "Stationboard", using: ["HTTPClient", "SandboxKit"],
    tests: ["Calendars", "HTTPClient", "NotifyPlugin", "Recipes", "RunState", "RunTestKit", "Runs", "SandboxKit"]),
  plugin("Store", using: [], tests: ["Recipes", "RunState", "RunTestKit"]),
  plugin(
    "Timetable", using: ["Calendars", "HTTPClient", "LocalFiles", "SandboxKit"], tests: ["HTTPClient", "SandboxKit"]),
  plugin(
    "TransitData", using: ["HTTPClient", "LocalFiles", "SandboxKit"],
    tests: ["HTTPClient", "ProcessTestKit", "SandboxKit"]),
]

/// How the shipped program is linked, for its start and its size: without the table of symbols that only shared
/// libraries would look for, without unused functions, tables for unwinding and the names of Unicode's characters, with
/// functions that are the same kept once (no code compares their addresses), with those that short commands call side by
/// side (`make order`), with relative relocations packed (glibc 2.36), with all others done before `main` and sealed, and
/// with C++'s library inside.
let shippedLinking = [
  "-use-ld=lld", "-Xlinker", "--no-export-dynamic", "-Xlinker", "--gc-sections", "-Xlinker", "--icf=all",
  "-Xlinker", "--no-eh-frame-hdr", "-Xlinker",
  "\(Context.packageDirectory)/Sources/Programs/errand/Linking/unwinding.ld",
  "-Xlinker", "--symbol-ordering-file=\(Context.packageDirectory)/Sources/Programs/errand/Linking/order.txt",
  "-Xlinker", "--no-warn-symbol-ordering", "-Xlinker", "-z", "-Xlinker", "pack-relative-relocs",
  "-Xlinker", "-z", "-Xlinker", "relro", "-Xlinker", "-z", "-Xlinker", "now",
  "-Xlinker", "--wrap=_swift_stdlib_getScalarName",
  "-Xclang-linker", "-static-libgcc", "-Xclang-linker", "-L\(Context.packageDirectory)/Sources/CLibraries/CRE2/Linking",
]

/// The targets that are built for speed: they read texts and compute expressions, item by item.
///
/// `errand-dev` reads all sources, in a test that others wait for. All else waits for people, disks and services, and
/// is built for size.
let builtForSpeed: Set = ["Basics", "Expressions", "errand-dev"]

/// The targets whose values are copied so often that code of their own pays: at each step, for each slot, and, in
/// PostgresClient and SharedState, for each statement and batch (rows of results, and records).
let copiedOften: Set = ["ActionKit", "Basics", "PostgresClient", "RunState", "Runs", "Scheduler", "SharedState"]

let package = Package(
  name: "errand",
  products: [.executable(name: "errand", targets: ["errand"])] + plugins.map(\.library),
  targets: [
    // C libraries, one target each; no C type leaves the Swift target that wraps it.
    floor(
      "CLibraries",
      [
        .systemLibrary(name: "CLibYAML"),
        .target(name: "CCrash"),
        .target(name: "CCrypto"),
        .target(name: "CCurl"),
        .target(name: "CMicroHTTPD"),
        .target(name: "CPageAssets"),
        .target(name: "CPostgres"),
        .target(name: "CProcess"),
        // A build in a clone finds its commit; `make release` adds whether files were changed.
        .target(
          name: "CProgram",
          cxxSettings: Context.environment["ERRAND_COMMIT"].map { [.define("ERRAND_COMMIT", to: "\"\($0)\"")] } ?? []),
        .target(
          name: "CRE2", linkerSettings: [.linkedLibrary(":libre2.a"), .linkedLibrary("stdc++")]),
        .target(name: "CTasks"),
        .target(name: "CUnicodeNames"),
        .target(name: "CZip"),
        .target(name: "CZlib"),
        .tests(of: "CCrypto"),
        .tests(of: "CZip"),
      ]),
    // Values, calendars, files and processes.
    floor(
      "Core",
      [
        .target(name: "Basics", dependencies: ["CCrypto", "Threads"]),
        .target(name: "Calendars", dependencies: ["Basics"]),
        .target(name: "ChildProcesses", dependencies: ["Basics", "CProcess"]),
        .target(name: "Threads", dependencies: ["CTasks"]),
        .target(name: "YAMLReader", dependencies: ["Basics", "CLibYAML"]),
        .tests(of: "Basics"),
        .tests(of: "Calendars", "ActionTestKit", "Basics"),
        .tests(of: "YAMLReader", "Basics"),
      ]),
    // HTTP, asked and answered.
    floor(
      "Network",
      [
        .target(name: "HTTPClient", dependencies: ["Basics", "CCurl", "CZip", "CZlib", "HTTPTypes", "Threads"]),
        .target(name: "HTTPServer", dependencies: ["Basics", "CMicroHTTPD", "CZlib", "HTTPTypes", "Threads"]),
        .target(name: "HTTPTypes", dependencies: ["Basics"]),
        .target(name: "ModelContext", dependencies: ["Basics"]),
        .target(name: "PostgresClient", dependencies: ["Basics", "CPostgres", "Threads"]),
        .target(name: "SMTPClient", dependencies: ["Basics", "CCurl", "HTTPClient"]),
        .tests(of: "HTTPClient", "ActionTestKit", "Basics", "HTTPServer", "ProcessTestKit"),
        .tests(of: "HTTPServer", "Basics"),
        .tests(of: "HTTPTypes", "Basics"),
        .tests(of: "ModelContext", "Basics"),
        .tests(of: "PostgresClient", "ActionTestKit", "Basics", "CPostgres", "PostgresTestKit"),
      ]),
    // The parts of plugins.
    floor(
      "PluginKit",
      [
        .target(name: "ActionKit", dependencies: ["Basics", "HTTPClient"]),
        .target(name: "LocalFiles", dependencies: ["ActionKit"]),
        .target(name: "PluginLocks", dependencies: ["ActionKit", "Basics"]),
        .target(name: "SandboxKit", dependencies: ["ActionKit", "Basics", "HTTPServer", "HTTPTypes"]),
        .tests(of: "ActionKit", "ActionTestKit"),
        .tests(of: "LocalFiles", "ActionKit", "ActionTestKit"),
        .tests(of: "PluginLocks", "ActionKit", "Basics"),
        .tests(of: "SandboxKit", "ActionTestKit", "Basics", "HTTPClient"),
      ]),
    // The actions of plugins that come from locks.
    floor(
      "LockedPlugins",
      [
        .target(
          name: "MCPPlugins",
          dependencies: ["ActionKit", "Basics", "ChildProcesses", "HTTPClient", "ModelContext", "PluginLocks"]),
        .target(
          name: "OpenAPIPlugins",
          dependencies: [
            "ActionKit", "Basics", "HTTPClient", "HTTPPlugin", "HTTPTypes", "LocalFiles", "PluginLocks", "YAMLReader",
          ]),
        .tests(
          of: "MCPPlugins", "ActionKit", "ActionTestKit", "Basics", "HTTPServer", "HTTPTypes", "ModelContext",
          "PluginLocks",
          "ProcessTestKit"),
        .tests(
          of: "OpenAPIPlugins", "ActionKit", "ActionTestKit", "Basics", "HTTPClient", "HTTPServer", "PluginLocks",
          "SandboxKit"),
      ]),
    // The meaning of recipes and their expressions.
    floor(
      "Language",
      [
        .target(name: "Expressions", dependencies: ["Basics", "CRE2", "Calendars"]),
        .target(
          name: "Recipes",
          dependencies: ["ActionKit", "Basics", "Calendars", "Expressions", "PostgresClient", "YAMLReader"]),
        .target(
          name: "RecipeEditing",
          dependencies: ["ActionKit", "Basics", "Calendars", "Expressions", "Recipes", "YAMLReader"]),
        .tests(of: "Expressions", "ActionTestKit", "Basics", "ExpressionTestKit"),
        .tests(of: "Recipes", "ActionKit", "Basics", "MarkbookPlugin", "PostgresClient"),
        .tests(
          of: "RecipeEditing", "ActionKit", "Basics", "Expressions", "PluginList", "Recipes", "YAMLReader"),
      ]),
    // Running recipes and keeping their state.
    floor(
      "Runtime",
      [
        .target(
          name: "Recordings", dependencies: ["ActionKit", "Basics", "HTTPClient", "HTTPTypes", "RunState", "Runs"]),
        .target(name: "RunState", dependencies: ["Basics", "Threads"]),
        .target(name: "Scheduler", dependencies: ["Basics", "Calendars", "Recipes", "RunState"]),
        .target(
          name: "Runs",
          dependencies: [
            "ActionKit", "Basics", "Calendars", "Expressions", "HTTPClient", "HTTPTypes", "Recipes", "RunState",
          ]),
        .target(name: "SharedState", dependencies: ["Basics", "PostgresClient", "RunState"]),
        .target(name: "SecretSources", dependencies: ["Basics", "ChildProcesses", "Recipes", "YAMLReader"]),
        .target(
          name: "Agent",
          dependencies: [
            "ActionKit", "Basics", "CCrash", "Calendars", "ChildProcesses", "RecipeEditing", "Recipes", "RunState",
            "Runs", "Scheduler", "Threads",
          ]),
        .target(
          name: "AgentClient",
          dependencies: ["Agent", "Basics", "HTTPTypes", "Operations", "RunState", "Threads"]),
        .target(
          name: "AgentPages",
          dependencies: [
            "ActionKit", "Agent", "Basics", "CPageAssets", "Calendars", "Expressions", "HTTPServer", "Operations",
            "RecipeEditing", "Recipes", "RunState", "Runs",
          ]),
        .target(
          name: "AgentServer",
          dependencies: [
            "ActionKit", "Agent", "AgentPages", "AssistantTools", "Basics", "HTTPServer", "ModelContext", "Operations",
            "Recipes", "RunState", "Runs",
          ]),
        .target(
          name: "AgentRuntime",
          dependencies: [
            "ActionKit", "Agent", "AgentClient", "AgentServer", "Basics", "Calendars", "HTTPClient", "LocalFiles",
            "Operations", "PostgresClient", "RecipeEditing", "Recipes", "Recordings", "RunState", "Runs",
            "SecretSources", "SharedState", "Threads",
          ]),
        .target(
          name: "AssistantTools",
          dependencies: ["ActionKit", "Agent", "Basics", "ModelContext", "Operations", "Recipes", "RunState", "Runs"]),
        .target(
          name: "Operations",
          dependencies: [
            "ActionKit", "Agent", "Basics", "Calendars", "RecipeEditing", "Recipes", "RunState", "Runs",
          ]),
        .tests(
          of: "Agent", "ActionKit", "ActionTestKit", "Basics", "Calendars", "Operations", "ProcessTestKit",
          "RecipeEditing", "Recipes", "RunState", "RunTestKit", "Runs", "Scheduler", "SharedState"),
        .tests(
          of: "AgentClient", "ActionKit", "ActionTestKit", "Agent", "AgentServer", "Basics", "Calendars", "HTTPTypes",
          "Operations", "ProcessTestKit", "Recipes", "RunState", "Runs"),
        .tests(
          of: "AssistantTools", "ActionTestKit", "Agent", "Basics", "ModelContext", "Operations", "Recipes", "RunState"),
        .tests(of: "AgentRuntime", "ActionKit", "Agent", "Basics", "Recipes", "RunState", "Runs", "SecretSources"),
        .tests(of: "Recordings", "ActionKit", "Basics", "HTTPClient", "Runs"),
        .tests(of: "RunState", "Basics", "RunTestKit", "Threads"),
        .tests(
          of: "Runs", "ActionKit", "ActionTestKit", "Basics", "Expressions", "PluginList", "Recipes", "RunState",
          "RunTestKit", "StorePlugin"),
        .tests(of: "Scheduler", "ActionKit", "Basics", "Calendars", "Recipes", "RunState"),
        .tests(of: "SecretSources", "ActionTestKit", "Basics", "ProcessTestKit", "Recipes"),
        .tests(
          of: "SharedState", "Basics", "PostgresClient", "PostgresTestKit", "RunState", "RunTestKit", "Recipes", "Runs",
          "Simulator"),
      ]),
    // Kits for tests: of recipes, of plugins, and the simulator.
    floor(
      "Testing",
      [
        .target(name: "ExpressionTestKit", dependencies: ["Basics", "Expressions"]),
        .target(name: "ActionTestKit", dependencies: ["ActionKit", "Basics", "ProcessTestKit", "YAMLReader"]),
        .target(name: "PostgresTestKit", dependencies: ["Basics", "PostgresClient", "ProcessTestKit"]),
        // Programs that tests start.
        .target(name: "ProcessTestKit"),
        .target(
          name: "RunTestKit",
          dependencies: ["ActionKit", "ActionTestKit", "Basics", "Recipes", "RunState", "Runs", "SharedState"]),
        .target(
          name: "RecipeTesting",
          dependencies: [
            "ActionKit", "Agent", "Basics", "HTTPClient", "HTTPTypes", "Operations", "Recipes", "Recordings",
            "RunState",
            "Runs", "YAMLReader",
          ]),
        .target(
          name: "Simulator",
          dependencies: [
            "ActionKit", "Agent", "Basics", "Calendars", "Operations", "Recipes", "RunState", "RunTestKit", "Runs",
            "Scheduler", "SharedState", "Threads",
          ]),
        .tests(of: "ActionTestKit", "ActionKit"),
        .tests(of: "ExpressionTestKit", "Basics"),
        .tests(of: "RecipeTesting", "ActionKit", "ActionTestKit", "Basics", "PluginList", "Recipes"),
        .tests(
          of: "RunTestKit", "ActionKit", "ActionTestKit", "Basics", "MarkbookPlugin", "Recipes", "RunState", "Runs"),
        .tests(of: "Simulator", "ActionKit", "Agent", "Basics", "Operations", "RunState", "RunTestKit", "Runs"),
      ]),
    // The programs, and their own parts.
    floor(
      "Programs",
      [
        .target(name: "CommandLineParser", dependencies: ["Basics"]),
        .target(name: "LanguageServer", dependencies: ["Basics", "RecipeEditing", "Threads"]),
        .target(
          name: "PluginList",
          dependencies: ["ActionKit", "MCPPlugins", "OpenAPIPlugins", "PluginLocks"] + plugins.map(\.dependency)),
        .executableTarget(
          name: "errand",
          dependencies: [
            "ActionKit", "Agent", "AgentClient", "AgentRuntime", "AgentServer", "AssistantTools", "Basics", "CProgram",
            "CUnicodeNames",
            "Calendars", "ChildProcesses", "CommandLineParser", "Expressions", "HTTPClient", "HTTPServer",
            "LanguageServer", "LocalFiles", "MCPPlugins", "OpenAPIPlugins", "Operations", "PluginList", "PluginLocks",
            "RecipeEditing", "RecipeTesting", "Recipes", "Recordings", "RunState", "Runs", "SecretSources",
            "SharedState", "Threads", "YAMLReader",
          ], linkerSettings: [.unsafeFlags(shippedLinking, .when(platforms: [.linux], configuration: .release))]),
        .executableTarget(
          name: "errand-dev",
          dependencies: [
            "ActionKit", "Agent", "Basics", "Calendars", "CommandLineParser", "ExpressionTestKit", "Expressions",
            "Operations", "PluginList", "Recipes", "RunState",
          ]),
        .tests(of: "CommandLineParser", "Basics"),
        .tests(of: "LanguageServer", "ActionKit", "Basics", "PluginList", "RecipeEditing", "Recipes"),
        .tests(
          of: "errand", "ActionKit", "ActionTestKit", "Agent", "AgentPages", "AgentRuntime", "AgentServer", "Basics",
          "Calendars",
          "CommandLineParser", "HTTPClient", "HTTPServer", "LanguageServer", "MCPPlugins", "MailPlugin",
          "MarkbookPlugin", "ModelContext",
          "OpenAPIPlugins", "Operations", "PluginList", "PluginLocks", "PostgresClient", "PostgresTestKit",
          "ProcessTestKit", "RecipeEditing", "Recipes",
          "RunState", "Runs", "SecretSources", "TimetablePlugin"),
        .tests(of: "errand-dev", "ActionTestKit", "Basics", "ProcessTestKit"),
      ]),
    // Measurements.
    [
      .executableTarget(
        name: "Benchmarks",
        dependencies: [
          "ActionKit", "Agent", "AgentClient", "Basics", "CBaselines", "Calendars", "Expressions", "HTTPClient",
          "HTTPServer", "MCPPlugins", "Operations", "PluginList", "PluginLocks", "PostgresClient", "PostgresTestKit",
          "Recipes", "RunState", "Runs", "Scheduler", "SharedState", "YAMLReader",
        ],
        path: "Benchmarks/Rows"),
      .target(
        name: "CBaselines", path: "Benchmarks/CBaselines",
        linkerSettings: [.linkedLibrary(":libyaml.a"), .linkedLibrary("curl")]),
      // `make bench` builds it with none, ten and twenty plugins, from folders that it makes.
      .executableTarget(
        name: "PluginStart",
        dependencies: ["ActionKit", "Basics", "CUnicodeNames", "HTTPClient", "PluginList", "Recipes"],
        path: Context.environment["ERRAND_PLUGIN_START"] ?? "Benchmarks/PluginStart",
        linkerSettings: [.unsafeFlags(shippedLinking, .when(platforms: [.linux], configuration: .release))]),
    ],
    plugins.flatMap(\.targets),
  ].flatMap { $0 },
  cxxLanguageStandard: .cxx20
)

/// The targets of a floor, which lie in a folder of its name; a floor uses itself and those before it.
func floor(_ name: String, _ targets: [Target]) -> [Target] {
  for target in targets { target.path = "\(target.type == .test ? "Tests" : "Sources")/\(name)/\(target.name)" }
  return targets
}

extension Target {
  /// The tests of a target, which see it and the targets that they name.
  static func tests(of target: String, _ others: Target.Dependency...) -> Target {
    .testTarget(name: "\(target)Tests", dependencies: [.byName(name: target)] + others)
  }
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
        name: "\(module)Tests", dependencies: ["ActionKit", "ActionTestKit", .byName(name: module)] + others,
        path: "Tests/Plugins/\(module)Tests"),
    ]
  )
}

// Fuzzers are built with sanitizers, and so apart from everything else: `make fuzz` asks for them.
if Context.environment["ERRAND_FUZZ"] != nil {
  package.targets += [
    .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
    .executableTarget(
      name: "Fuzz",
      dependencies: [
        "ActionKit", "Basics", "CFuzzer", "Calendars", "Expressions", "HTTPClient", "HTTPTypes", "OpenAPIPlugins",
        "PluginLocks", "Recipes", "YAMLReader",
      ], path: "Tests/Fuzz/Targets"),
  ]
}

// While one works on a part, its tests alone are built and linked: ERRAND_TESTS='HTTPClient errand' swift build --build-tests
if let named = Context.environment["ERRAND_TESTS"] {
  let kept = Set(named.split(separator: " ").map { "\($0)Tests" })
  package.targets.removeAll { $0.type == .test && !kept.contains($0.name) }
}

for target in package.targets where target.type != .system {
  // Files beside the sources that aren't sources: pages for people, and files that tests read by `#filePath`.
  target.exclude = ["Files", "README.md", "Fixtures", "Linking", "Packaging", "Snapshots", "generate"].filter {
    FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(target.path ?? "")/\($0)")
  }
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    // One section per function, so that the linker leaves out unused functions and keeps identical ones once.
    .unsafeFlags(["-Xfrontend", "-function-sections"], .when(configuration: .release)),
    // Types of the generics of others are made by functions of their own. By their names they would be looked for among
    // all conformances of the program, at each start.
    .unsafeFlags(
      ["-Xfrontend", "-disable-concrete-type-metadata-mangled-name-accessors"], .when(configuration: .release)),
  ]
  if !copiedOften.contains(target.name) {
    // How values of a type are copied is a short text that the runtime reads, not code of their own: a megabyte less.
    // Debug builds have it too, so that all tests try it.
    target.swiftSettings?.append(
      .unsafeFlags([
        "-enable-experimental-feature", "LayoutStringValueWitnesses", "-Xfrontend",
        "-enable-layout-string-value-witnesses", "-Xfrontend", "-enable-layout-string-value-witnesses-instantiation",
      ]))
  }
  if builtForSpeed.contains(target.name) {
    // The suite takes three quarters of the time with it.
    target.swiftSettings?.append(.unsafeFlags(["-O"], .when(configuration: .debug)))
  } else {
    target.swiftSettings?.append(.unsafeFlags(["-Osize"], .when(configuration: .release)))
  }
  if target.name != "Expressions" {
    // A part that many functions share becomes a function of its own, but not where one more call would be felt.
    target.swiftSettings?.append(
      .unsafeFlags(["-Xllvm", "-enable-machine-outliner=always"], .when(configuration: .release)))
  }
  if target.type != .test, !["Benchmarks", "errand-dev"].contains(target.name) {
    // Patterns of the standard library are a megabyte, and would come with a call of `contains`.
    target.swiftSettings?.append(.unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"]))
  }
}
