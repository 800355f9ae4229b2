import ActionKit
import Basics
import CommandLineParser
import Recipes

/// The manual pages, made from the declarations that the program itself reads.
enum Manual: String, CaseIterable {
  case errand
  case recipe = "errand-recipe"
  case configuration = "errand.yaml"

  /// The page, in the macros of man(7).
  func text(_ catalog: ActionCatalog) -> String {
    switch self {
    case .errand: return commands.text
    case .recipe:
      return keys(
        catalog, in: [.recipe, .test], summary: "The format of Errand's recipes and of their tests.",
        description: """
          A recipe is a file in YAML that chains typed actions of services. Its name is the file's name without .yaml; its \
          test lies beside it and is called NAME.test.yaml. Texts hold expressions in ${{ }}; the language is CEL. \
          'errand check' finds every fault before anything runs, and 'errand actions' lists the actions.
          """)
    case .configuration:
      return keys(
        catalog, in: [.errand], summary: "The configuration of a folder of Errand's recipes.",
        description: """
          The file lies in the folder that the recipes' paths start from, and is found upward from a recipe or from the \
          working folder. It names the state's folder, connections to services, the sources of secrets, and schedules.
          """)
    }
  }

  private var commands: ManualPage {
    program.manualPage(
      date: versionDate, source: "Errand \(version)",
      description: """
        Errand runs recipes, from the command line or on a schedule. A recipe is checked as a whole before it starts; \
        every step is on disk before the next one begins, so that a run continues where it was after a crash; and \
        'errand why' says afterwards what happened, and why.
        """,
      sections: [
        ("EXIT STATUS", [.terms(ExitCode.allCases.map { ("\($0.rawValue)", $0.meaning) })]),
        (
          "FILES",
          [
            .terms([
              ("errand.yaml", "The configuration of a folder; see errand.yaml(5)."),
              (".errand", "The state of a folder with errand.yaml, unless that names another one."),
              (
                "$XDG_STATE_HOME/errand, ~/.local/state/errand",
                "The state of recipes that no errand.yaml belongs to."
              ),
            ])
          ]
        ),
        ("ENVIRONMENT", [.terms([("NO_COLOR", "If it is set, no colours are used.")])]),
        ("SEE ALSO", [.paragraph("errand-recipe(5), errand.yaml(5)")]),
      ])
  }

  private func keys(
    _ catalog: ActionCatalog, in schemas: [FileSchema], summary: String, description: String
  ) -> String {
    var page = ManualPage(
      rawValue, section: 5, date: versionDate, source: "Errand \(version)", summary: summary)
    page.add("DESCRIPTION", [.paragraph(description)])
    for part in KeyReference.all(catalog) where schemas.contains(part.schema) {
      let terms = part.keys.map { key in
        (key.name, [key.meaning, key.values].filter { !$0.isEmpty }.joined(separator: " ").withoutCodeMarks)
      }
      page.add(
        part.title.withoutCodeMarks.uppercased(), [.terms(terms)] + part.examples.map { .literal($0.text) })
    }
    let others = Manual.allCases.filter { $0 != self }.map { "\($0.rawValue)(\($0.section))" }
    page.add("SEE ALSO", [.paragraph(others.joined(separator: ", "))])
    return page.text
  }

  /// The section of the manual: programs, or formats of files.
  private var section: Int { self == .errand ? 1 : 5 }
}

extension String {
  /// The text without the marks around code, which a terminal shows as they are.
  var withoutCodeMarks: String { replacing("`", with: "") }
}
