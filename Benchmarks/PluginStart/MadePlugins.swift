import ActionKit

/// The plugins beside the shipped ones.
let madePlugins: [any Plugin.Type] = [Made.self]
