/// Plugins from OpenAPI documents.
package enum OpenAPIKind {}
