package import ActionKit
import MarkbookPlugin

/// The plugins of the program, in the order of its pages: the only list.
package let everyPlugin: [any Plugin.Type] = [
  MarkbookPlugin.self
]
