/// Plugins from MCP servers.
package enum MCPKind {}
