import Basics
import Recipes

/// The outcome of a step in a run, for its node.
struct NodeState: Equatable {
  enum Kind: String { case done, failed, open, passed }

  var kind: Kind
  /// `succeeded in 0.3s`, or the counts of a loop's items.
  var text: String
}

/// A graph of a recipe, and of a run if there are states, in the languages of drawing programs.
struct GraphDrawing {
  let graph: RecipeGraph
  /// By the paths of nodes.
  var states: [String: NodeState] = [:]
  /// The heading of the drawing.
  var title: String

  // MARK: Text

  /// For terminals: the steps as an outline, each with its inputs from other steps, and the types.
  ///
  /// - Parameter width: The columns of the terminal; longer lines are cut. Nil without a limit.
  func text(width: Int? = nil, colour: Bool) -> String {
    var lines = [Style.bold.applied(to: title.safe, colour)]
    for section in graph.sections { write(section, indent: "", colour, &lines) }
    if let width { lines = lines.map { $0.styledAndClipped(to: width) } }
    return lines.joined(separator: "\n")
  }

  private func write(_ section: RecipeGraph.Section, indent: String, _ colour: Bool, _ lines: inout [String]) {
    if let label = section.label { lines.append("\(indent)\(Style.dim.applied(to: "\(label.safe):", colour))") }
    let own = section.label == nil ? indent : indent + "  "
    for number in section.nodes {
      let node = graph.nodes[number]
      var line = "\(own)\(Style.bold.applied(to: node.title.safe, colour))"
      let isList = [.triggers, .inputs, .outputs].contains(node.shape)
      let words = isList ? [] : node.words
      if !words.isEmpty { line += "  \(words.joined(separator: ", ").safe)" }
      if let gives = node.gives { line += "  → \(gives.safe)" }
      if let state = states[node.path], !node.path.isEmpty {
        line += "  \(state.kind.colours.style.applied(to: "[\(state.text)]", colour))"
      }
      lines.append(line)
      if isList {
        lines += node.words.map { "\(own)    \($0.safe)" }
      }
      for arrow in graph.arrows where arrow.to == number {
        for label in arrow.labels {
          let text = "← \(graph.nodes[arrow.from].title.safe)  \(label.safe)"
          lines.append("\(own)    \(Style.dim.applied(to: text, colour))")
        }
      }
      for section in node.sections { write(section, indent: own + "  │ ", colour, &lines) }
    }
  }

  // MARK: Lines of a node

  private func lines(of node: RecipeGraph.Node) -> [String] {
    var lines = [node.title] + node.words
    if node.shape == .names, let gives = node.gives { lines.append(gives) }
    if let state = states[node.path], !node.path.isEmpty { lines.append(state.text) }
    return lines.map(\.safe)
  }

  /// The pairs of nodes that follow each other and that no arrow joins already.
  private var order: [(from: Int, to: Int)] {
    var pairs: [(Int, Int)] = []
    func walk(_ section: RecipeGraph.Section) {
      for (one, other) in zip(section.nodes, section.nodes.dropFirst()) {
        if !graph.arrows.contains(where: { $0.from == one && $0.to == other }) { pairs.append((one, other)) }
      }
      for number in section.nodes { graph.nodes[number].sections.forEach(walk) }
    }
    graph.sections.forEach(walk)
    return pairs
  }

  // MARK: Graphviz

  /// For Graphviz.
  ///
  /// Names are `n` and a number, so that only labels hold what people wrote.
  var dot: String {
    var lines = [
      "digraph recipe {",
      "  label = \(quotedForDot([title.safe]));",
      "  labelloc = t;",
      "  compound = true;",
      "  fontname = \"sans-serif\";",
      "  node [fontname = \"sans-serif\", fontsize = 11, shape = box, style = \"rounded,filled\", fillcolor = white];",
      "  edge [fontname = \"sans-serif\", fontsize = 9];",
    ]
    for (index, section) in graph.sections.enumerated() {
      writeDot(section, name: "s\(index)", indent: "  ", &lines)
    }
    for (from, to) in order {
      lines.append("  \(exit(of: from)) -> n\(to) [style = dotted, arrowhead = open\(boundary(from))];")
    }
    for arrow in graph.arrows {
      // An arrow from a block's last steps back to it must not turn the block around.
      let back = arrow.from > arrow.to ? ", constraint = false" : ""
      lines.append("  n\(arrow.from) -> n\(arrow.to) [label = \(quotedForDot(arrow.labels.map(\.safe)))\(back)];")
    }
    return (lines + ["}"]).joined(separator: "\n")
  }

  private func writeDot(_ section: RecipeGraph.Section, name: String, indent: String, _ lines: inout [String]) {
    if let label = section.label {
      lines += [
        "\(indent)subgraph cluster_\(name) {", "\(indent)  label = \(quotedForDot([label.safe]));",
        "\(indent)  style = dashed;",
      ]
    }
    let own = section.label == nil ? indent : indent + "  "
    for number in section.nodes {
      let node = graph.nodes[number]
      let inner = node.sections.isEmpty ? own : own + "  "
      if !node.sections.isEmpty {
        lines += [
          "\(own)subgraph cluster_n\(number) {", "\(own)  label = \"\";", "\(own)  style = rounded;",
          "\(own)  color = gray40;",
        ]
      }
      let fill = states[node.path].flatMap { node.path.isEmpty ? nil : $0.kind.colours.fill }
      let colour = fill.map { ", fillcolor = \"\($0)\"" } ?? ""
      lines.append(
        "\(inner)n\(number) [label = \(quotedForDot(self.lines(of: node))), shape = \(node.shape.drawn.dot)\(colour)];")
      for (index, section) in node.sections.enumerated() {
        writeDot(section, name: "n\(number)_\(index)", indent: inner, &lines)
        if let first = section.nodes.first, !graph.arrows.contains(where: { $0.from == number && $0.to == first }) {
          lines.append("\(inner)n\(number) -> n\(first) [style = dotted, arrowhead = open];")
        }
      }
      if !node.sections.isEmpty { lines.append("\(own)}") }
    }
    if section.label != nil { lines.append("\(indent)}") }
  }

  /// The node inside a step that the next step follows.
  private func exit(of number: Int) -> String {
    guard let last = graph.nodes[number].sections.last?.nodes.last else { return "n\(number)" }
    return exit(of: last)
  }

  private func boundary(_ number: Int) -> String {
    graph.nodes[number].sections.isEmpty ? "" : ", ltail = cluster_n\(number)"
  }

  /// A label of several lines as a string in dot, with its own escapes.
  private func quotedForDot(_ lines: [String]) -> String {
    // Graphviz also decodes HTML entities.
    let escaped = lines.map {
      $0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("&", with: "&amp;")
    }
    return "\"\(escaped.joined(separator: "\\n"))\""
  }

  // MARK: Mermaid

  /// For Mermaid, as GitHub and many editors draw it inside a page.
  var mermaid: String {
    var lines = ["---", "title: \(JSON.quoted(title.safe))", "---", "flowchart TD"]
    for (index, section) in graph.sections.enumerated() {
      writeMermaid(section, name: "s\(index)", indent: "  ", &lines)
    }
    for (from, to) in order { lines.append("  \(mermaidName(from)) -.-> \(mermaidName(to))") }
    for arrow in graph.arrows {
      lines.append("  n\(arrow.from) -->|\(quotedForMermaid(arrow.labels.map(\.safe)))| n\(arrow.to)")
    }
    var classes: [NodeState.Kind: [String]] = [:]
    for (number, node) in graph.nodes.enumerated() {
      if let state = states[node.path], !node.path.isEmpty { classes[state.kind, default: []].append("n\(number)") }
    }
    for kind in [NodeState.Kind.done, .failed, .open, .passed] {
      guard let names = classes[kind] else { continue }
      lines.append("  classDef \(kind.rawValue) fill:\(kind.colours.fill)")
      lines.append("  class \(names.joined(separator: ",")) \(kind.rawValue)")
    }
    return lines.joined(separator: "\n")
  }

  private func writeMermaid(_ section: RecipeGraph.Section, name: String, indent: String, _ lines: inout [String]) {
    if let label = section.label { lines.append("\(indent)subgraph \(name) [\(quotedForMermaid([label.safe]))]") }
    let own = section.label == nil ? indent : indent + "  "
    for number in section.nodes {
      let node = graph.nodes[number]
      let inner = node.sections.isEmpty ? own : own + "  "
      if !node.sections.isEmpty { lines.append("\(own)subgraph g\(number) [\" \"]") }
      let (_, open, close) = node.shape.drawn
      lines.append("\(inner)n\(number)\(open)\(quotedForMermaid(self.lines(of: node)))\(close)")
      for (index, section) in node.sections.enumerated() {
        writeMermaid(section, name: "g\(number)x\(index)", indent: inner, &lines)
        if let first = section.nodes.first, !graph.arrows.contains(where: { $0.from == number && $0.to == first }) {
          lines.append("\(inner)n\(number) -.-> \(mermaidName(first))")
        }
      }
      if !node.sections.isEmpty { lines.append("\(own)end") }
    }
    if section.label != nil { lines.append("\(indent)end") }
  }

  private func mermaidName(_ number: Int) -> String {
    graph.nodes[number].sections.isEmpty ? "n\(number)" : "g\(number)"
  }

  /// A label of several lines in quotes, with character codes for everything that Mermaid, Markdown or HTML interpret.
  private func quotedForMermaid(_ lines: [String]) -> String {
    let escaped = lines.map { line in
      line.unicodeScalars.map { scalar in
        let isPlain =
          scalar.value >= 0x80 || (0x30...0x39).contains(scalar.value) || (0x61...0x7A).contains(scalar.value | 0x20)
          || " .,:()/+-='".unicodeScalars.contains(scalar)
        return isPlain ? String(scalar) : "#\(scalar.value);"
      }.joined()
    }
    return "\"\(escaped.joined(separator: "<br/>"))\""
  }
}

extension RecipeGraph.Node.Shape {
  /// The name of the shape in dot, and the brackets in Mermaid.
  fileprivate var drawn: (dot: String, open: String, close: String) {
    switch self {
    case .triggers: ("ellipse", "((", "))")
    case .inputs, .outputs: ("note", "[/", "/]")
    case .names: ("plaintext", "(", ")")
    case .wait, .approval: ("octagon", "{{", "}}")
    case .parallel, .block: ("folder", "([", "])")
    case .call: ("component", "[[", "]]")
    case .failure: ("cds", ">", "]")
    case .action: ("box", "[", "]")
    }
  }
}

extension NodeState.Kind {
  /// The colour in a drawing, and the style on a terminal.
  fileprivate var colours: (fill: String, style: Style) {
    switch self {
    case .done: ("#d8f0d8", .green)
    case .failed: ("#f6d0d0", .red)
    case .open: ("#fdf0c0", .yellow)
    case .passed: ("#eeeeee", .dim)
    }
  }
}
