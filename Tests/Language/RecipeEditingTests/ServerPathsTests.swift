import RecipeEditing
import Testing

@Suite struct ServerPathsTests {
  private static let paths = ServerPaths(
    root: "/home/ann/work", others: ["/home/ann/work/recipes", "/var/lib/errand", "/home/ann", "relative", "/", ""])

  @Test(arguments: [
    ("'/home/ann/work/recipes/a.yaml':3: bad", "'recipes/a.yaml':3: bad"),
    ("in /home/ann/work.", "in the folder."), ("/home/ann/work", "the folder"), ("/home/ann/work/", "the folder"),
    ("the state in '/var/lib/errand/state.json' is damaged", "the state in 'state.json' is damaged"),
    ("held in /var/lib/errand: no", "held in errand: no"),
    ("'/home/ann/work/.git/index.lock' exists", "'.git/index.lock' exists"),
    // Another folder with the same beginning is below a folder that is known, or isn't known.
    ("/home/ann/works/x", "works/x"), ("/home/ann/work.yaml", "work.yaml"),
    ("/var/lib/errands/x", "/var/lib/errands/x"),
    // A path in a longer one, or in an address, is another path.
    ("/srv/home/ann/work/x", "/srv/home/ann/work/x"), ("http://h/home/ann/x", "http://h/home/ann/x"),
    ("a/b c", "a/b c"), ("/", "/"), ("", ""), ("Größe /home/ann/work/ä.yaml", "Größe ä.yaml"),
  ])
  func `a text names files below the known folders`(_ text: String, _ told: String) {
    #expect(Self.paths.told(text) == told)
  }

  @Test func `without folders a text stays as it is`() {
    #expect(ServerPaths().told("in /home/ann/work") == "in /home/ann/work")
  }
}
