package import Basics
import Recipes

extension EditorService {
  /// The elements of a file: inputs, entries, steps with nested steps, outputs; cases of tests; connections.
  package func outline(of source: Source) -> [OutlineItem] {
    let outline = TextOutline(source.bytes)
    let reader = OutlineItems(outline: outline)
    return outline.nodes[0].children.compactMap { reader.section($0, EditedFileKind(path: source.name)) }
  }

  /// The ranges that can be folded: for each line the largest key or item that begins there and has several lines, and
  /// runs of comment lines.
  package func folds(of source: Source) -> [Range<Int>] {
    let outline = TextOutline(source.bytes)
    var folds: [Int: Range<Int>] = [:]
    for node in outline.nodes.dropFirst() {
      let line = outline.line(at: node.nameRange.lowerBound)
      guard outline.line(at: node.end) > line, node.end > (folds[line]?.upperBound ?? 0) else { continue }
      folds[line] = node.nameRange.lowerBound..<node.end
    }
    var first: Int?
    for (line, start) in outline.lineStarts.enumerated() {
      let end = outline.lineEnd(at: start)
      let text = source.bytes[start..<end].firstIndex { !isBlankOrBreak($0) }
      if let text, source.bytes[text] == ASCII.hash {
        if let first, folds[first]?.lowerBound ?? -1 < text { folds[first] = (folds[first]?.lowerBound ?? text)..<end }
        if first == nil {
          first = line
          folds[line] = text..<end
        }
      } else {
        first = nil
      }
    }
    return folds.values.filter { source.bytes[$0].contains(ASCII.newline) }.sorted { $0.lowerBound < $1.lowerBound }
  }
}

/// Makes outline items from the nodes of a text.
private struct OutlineItems {
  let outline: TextOutline

  /// The maximum depth of nested steps.
  private static let deepest = 32

  private func node(_ index: Int) -> TextOutline.Node { outline.nodes[index] }

  /// - Parameter name: The range of the item's name, if it isn't the node's key.
  private func item(
    _ kind: OutlineItem.Kind, _ text: String, _ detail: String = "", at index: Int, namedBy name: Range<Int>? = nil,
    _ children: [OutlineItem] = []
  ) -> OutlineItem {
    let range = node(index).nameRange.lowerBound..<max(node(index).end, node(index).nameRange.upperBound)
    let nameRange = name.map { $0.clamped(to: range) } ?? node(index).nameRange
    return OutlineItem(
      kind, text, detail: String(detail.prefix(80)), range: range,
      nameRange: nameRange.isEmpty ? range : nameRange, children: children)
  }

  func section(_ index: Int, _ file: EditedFileKind) -> OutlineItem? {
    guard node(index).kind == .key else { return nil }
    let name = node(index).name
    let members = node(index).children
    switch (file, name) {
    case (.recipe, "inputs"):
      return item(.section, name, at: index, members.map { item(.input, node($0).name, type(of: $0), at: $0) })
    case (.recipe, "outputs"):
      return item(.section, name, at: index, members.map { item(.output, node($0).name, value(of: $0), at: $0) })
    case (.recipe, "on"): return item(.section, name, at: index, members.map(trigger))
    case (.recipe, "steps"), (.recipe, "onFailure"), (.recipe, "finally"):
      return item(.section, name, at: index, steps(in: index, 0))
    case (.test, "cases"):
      return item(
        .section, name, at: index,
        members.filter { node($0).kind == .item }.map { item in
          let title = outline.child("case", of: item)
          return self.item(
            .testCase, title.map(value) ?? "case \(node(item).index + 1)", at: item,
            namedBy: title.map { node($0).value })
        })
    case (.configuration, "connections"):
      return item(
        .section, name, at: index,
        members.map { item(.setting, node($0).name, outline.scalar("plugin", of: $0) ?? node($0).name, at: $0) })
    case (.configuration, _): return item(.setting, name, setting(name, index), at: index)
    default: return nil
    }
  }

  /// The value after a key or dash, on its line.
  private func value(of index: Int) -> String {
    node(index).isBlockText || !node(index).children.isEmpty ? "" : outline.scalar(index)
  }

  /// The value of a setting that isn't secret; values under other keys may be, so they aren't displayed.
  private func setting(_ name: String, _ index: Int) -> String {
    let text = value(of: index)
    switch name {
    case "state": return DatabaseSettings.mayHoldPassword(text) ? MaskedText.mark : text
    case "zone", "recipes", "onFailure": return text
    default: return ""
    }
  }

  private func type(of index: Int) -> String {
    outline.child("type", of: index).map { outline.text(node($0).value) } ?? value(of: index)
  }

  private func trigger(_ index: Int) -> OutlineItem {
    let kinds = ["cron", "every", "at", "calendar", "webhook", "form", "event", "afterRecipe", "file"]
    let kind = kinds.lazy.compactMap { outline.child($0, of: index) }.first
    let id = outline.child("id", of: index)
    let what = kind.map { "\(node($0).name) \(value(of: $0))".trimmedEnd } ?? ""
    return item(
      .trigger, id.map(value) ?? (what.isEmpty ? "entry" : what), id == nil ? "" : what, at: index,
      namedBy: (id ?? kind).map { id == nil ? node($0).nameRange : node($0).value })
  }

  // MARK: Steps

  private func steps(in index: Int, _ depth: Int) -> [OutlineItem] {
    if depth > OutlineItems.deepest { return [] }
    return node(index).children.filter { node($0).kind == .item }.map { step($0, depth) }
  }

  private func step(_ index: Int, _ depth: Int) -> OutlineItem {
    let kinds = ["uses", "let", "wait", "approve", "ask", "parallel", "switch", "call", "fail", "steps"]
    let kind = kinds.lazy.compactMap { outline.child($0, of: index) }.first
    let names = ["id", "name"].lazy.compactMap { outline.child($0, of: index) }.first
    if let kind, node(kind).name == "let", names == nil {
      return item(
        .variable, outline.keys(in: kind).joined(separator: ", "), "let", at: index, namedBy: node(kind).nameRange)
    }
    let word = kind.map { node($0).name } ?? ""
    let what = kind.map { word == "uses" ? value(of: $0) : "\(word) \(value(of: $0))".trimmedEnd } ?? ""
    let children = blocks(of: index, depth)
    return item(
      .step, names.map(value) ?? (what.isEmpty ? "step \(node(index).index + 1)" : what), names == nil ? "" : what,
      at: index, namedBy: (names ?? kind).map { node($0).value.isEmpty ? node($0).nameRange : node($0).value }, children
    )
  }

  /// The nested steps of a step; steps of branches and cases are listed under the branch or case.
  private func blocks(of index: Int, _ depth: Int) -> [OutlineItem] {
    node(index).children.flatMap { child -> [OutlineItem] in
      switch node(child).name {
      case "steps": return steps(in: child, depth + 1)
      case "else", "default", "onError":
        let inner = branch(child, depth)
        return inner.children.isEmpty ? [] : [inner]
      case "parallel", "cases": return node(child).children.map { branch($0, depth) }
      case "approve", "ask": return outline.child("tell", of: child).map { [branch($0, depth)] } ?? []
      default: return []
      }
    }
  }

  private func branch(_ index: Int, _ depth: Int) -> OutlineItem {
    item(.branch, node(index).name, at: index, steps(in: outline.child("steps", of: index) ?? index, depth + 1))
  }
}

extension String {
  fileprivate var trimmedEnd: String { last == " " ? String(dropLast()) : self }
}
