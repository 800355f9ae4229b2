// What a sandbox answers requests with, so that plugins import one module.
@_exported public import HTTPServer
