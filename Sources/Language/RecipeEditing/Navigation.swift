package import Basics
import Recipes

extension EditorService {
  /// Where what is named at an offset is declared: a name, or the file of a path.
  package func definition(in source: Source, at offset: Int) -> Diagnostic.Location? {
    let files = EditedFiles(folder, [source])
    guard let file = files.file(Recipe.path(source.name, besides: "")) else { return nil }
    if let mention = files.mention(in: file, at: offset) { return files.declaration(of: mention.symbol) }
    let link = links(in: source).first { $0.range.lowerBound <= offset && offset <= $0.range.upperBound }
    return link.flatMap { files.source($0.path) }.map { Diagnostic.Location($0, at: 0) }
  }

  /// Where what is named at an offset is named, in all files, the file that declares it first.
  package func references(in source: Source, at offset: Int, withDeclaration: Bool) -> [Diagnostic.Location] {
    let files = EditedFiles(folder, [source])
    guard let file = files.file(Recipe.path(source.name, besides: "")),
      let symbol = files.mention(in: file, at: offset)?.symbol
    else { return [] }
    let renaming = Renaming(files, symbol, from: file)
    return renaming.places(withDeclaration: withDeclaration)
  }

  /// The files that a file names, with where: recipes that are called or tested, recordings and calendars.
  package func links(in source: Source) -> [(range: Range<Int>, path: String)] {
    let outline = TextOutline(source.bytes)
    return outline.nodes.indices.compactMap { node in
      guard node != 0, !outline.nodes[node].isBlockText, let parent = linkingKey(node, outline, source.name) else {
        return nil
      }
      let text = outline.scalar(node)
      guard !text.isEmpty, ![ASCII.openBracket, ASCII.openBrace].contains(outline.bytes[parent.lowerBound]) else {
        return nil
      }
      return (parent, Recipe.path(text, besides: source.name))
    }
  }

  /// The bytes of a node's value if it is the path of a file, without its quotes.
  private func linkingKey(_ node: Int, _ outline: TextOutline, _ name: String) -> Range<Int>? {
    let names = outline.names(to: node)
    guard let key = names.last, !outline.nodes[node].value.isEmpty else { return nil }
    let isPath: Bool
    switch EditedFileKind(path: name) {
    case .recipe:
      isPath =
        key == "call" && names.dropLast().last == "-"
        || names == ["on", "-", "except"] && outline.scalar(node).hasSuffix(".ics")
    case .test: isPath = names == ["recipe"] || names == ["replay"] || names == ["cases", "-", "replay"]
    case .configuration: isPath = names == ["onFailure"]
    }
    guard isPath else { return nil }
    let value = outline.nodes[node].value
    let isQuoted = [ASCII.quote, ASCII.apostrophe].contains(outline.bytes[value.lowerBound]) && value.count > 1
    return isQuoted ? value.lowerBound + 1..<value.upperBound - 1 : value
  }
}
