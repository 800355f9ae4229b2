import ActionKit
import Recipes

// The reference page of the keys of recipes, of their tests and of `errand.yaml`.

private let introduction = """
  # Keys

  All keys of recipes, of test files and of `errand.yaml`, with the texts that editors show and with checked examples.
  The [recipe reference](recipes.md) explains the most important keys. `errand help KEY` prints the text of a key in the
  terminal, and `errand schema` prints the schemas.

  """

/// The page.
func keyPage(_ catalog: ActionCatalog) -> String {
  introduction
    + KeyReference.all(catalog).map { part in
      "\n## \(part.title)\n\n| Key | Meaning | Values |\n| --- | --- | --- |\n"
        + part.keys.map { "| `\($0.name)` | \(cell($0.meaning)) | \(cell($0.values)) |\n" }.joined()
        + part.examples.map { "\n```yaml\n\($0.text)\n```\n" }.joined()
    }.joined()
}

private func cell(_ text: String) -> String { text.replacing("|", with: "\\|").replacing("\n", with: " ") }
