// The HTTP server of sandboxes, re-exported so that plugins import one module.
@_exported public import HTTPServer
