package import Basics
import Recipes

extension EditorService {
  /// The declaration of the name at an offset, or the file whose path is there.
  package func definition(in source: Source, at offset: Int) -> Diagnostic.Location? {
    let files = EditedFiles(folder, [source])
    guard let file = files.file(Recipe.path(source.name, besides: "")) else { return nil }
    if let mention = files.mention(in: file, at: offset) { return files.declaration(of: mention.symbol, from: file) }
    let link = links(in: source).first { $0.range.lowerBound <= offset && offset <= $0.range.upperBound }
    return link.flatMap { files.source($0.path) }.map { Diagnostic.Location($0, at: 0) }
  }

  /// All places that name the symbol at an offset, in all files, beginning with the file that declares it.
  package func references(in source: Source, at offset: Int, withDeclaration: Bool) -> [Diagnostic.Location] {
    let files = EditedFiles(folder, [source])
    guard let file = files.file(Recipe.path(source.name, besides: "")),
      let symbol = files.mention(in: file, at: offset)?.symbol
    else { return [] }
    let renaming = Renaming(files, symbol, from: file)
    return renaming.places(withDeclaration: withDeclaration)
  }

  /// The files that a file names, with the ranges of their names: called or tested recipes, recordings and calendars.
  package func links(in source: Source) -> [(range: Range<Int>, path: String)] {
    let outline = TextOutline(source.bytes)
    let file = EditedFileKind(path: source.name)
    return outline.nodes.indices.compactMap { index in
      let node = outline.nodes[index]
      guard node.kind == .key, !node.value.isEmpty, node.children.isEmpty, !node.isBlockText,
        outline.namesFile(index, in: file)
      else { return nil }
      var range = node.value
      let first = source.bytes[range.lowerBound]
      if first == ASCII.quote || first == ASCII.apostrophe {
        guard range.count > 2, source.bytes[range.upperBound - 1] == first else { return nil }
        range = range.lowerBound + 1..<range.upperBound - 1
      }
      return (range, Recipe.path(outline.text(range), besides: source.name))
    }
  }
}

extension TextOutline {
  /// Whether the value of a key is the path of a file.
  fileprivate func namesFile(_ index: Int, in file: EditedFileKind) -> Bool {
    switch (file, nodes[index].name) {
    case (.recipe, "call"):
      // The list that contains the step: under a key for steps, in a branch or in a case.
      let list = nodes[nodes[index].parent].parent
      return ["steps", "else", "default", "onError", "onFailure", "finally", "tell"].contains(nodes[list].name)
        || ["parallel", "cases"].contains(nodes[nodes[list].parent].name)
    case (.recipe, "except"): return names(to: index) == ["on", "-", "except"] && scalar(index).hasSuffix(".ics")
    case (.test, "recipe"): return nodes[index].parent == 0
    case (.test, "replay"): return [["replay"], ["cases", "-", "replay"]].contains(names(to: index))
    case (.configuration, "onFailure"): return nodes[index].parent == 0
    default: return false
    }
  }
}
