package import Basics
package import Glibc
package import RunState

/// The account and person behind a request, as the connection reports them.
///
/// The kernel names the account at the other end of a socket. The agent's own account and root can change the state
/// without permission anyway, so their clients may name the person they speak for; any other account acts under its own
/// name.
package struct AgentCaller: Sendable, Equatable {
  /// The name that decisions and resolutions are recorded under, and that a recipe's `by` lists.
  package var name: String
  /// The account, which keys of runs belong to.
  package var account: String
  /// The recipes that it sees; all if empty.
  package var recipes: [String] = []
  /// The scopes of its token; an account of the machine has all.
  package var scopes = Set(TokenScope.allCases)
  /// The hash of its token, if it has one.
  package var token: String?
  /// When its token ends, if it does.
  package var expiresAt: Timestamp?
  /// Whether it is a person who has logged in to the pages.
  package var isOnPage = false
  /// How a decision of it comes.
  package var way: DecisionWay { isOnPage ? .login : isToken ? .token : .command }
  /// Whether it is a program of the agent's own account, in this process or through the agent's socket.
  package var isOwn = true
  /// Whether it sees the data of runs.
  package var seesData: Bool { scopes.contains(.data) }
  /// Whether it has a token, whose name is its own.
  package var isToken: Bool { account.hasPrefix(AgentCaller.tokenPrefix) }
  /// Whether it is on another machine or in a browser, as far as the agent can tell.
  package var isElsewhere: Bool { isToken || isOnPage }

  private static let tokenPrefix = "token:"

  /// The owner of a token.
  package init(token: TokenIssued) {
    self.init(name: token.name, account: AgentCaller.tokenPrefix + token.name)
    recipes = token.recipes
    scopes = Set(token.scopes)
    self.token = token.sha256
    expiresAt = token.expiresAt
    isOwn = false
  }

  /// The caller, limited to some of the recipes that it sees; unchanged if none are named.
  package func limited(to recipes: [String]) -> AgentCaller {
    if recipes.isEmpty { return self }
    var limited = self
    limited.recipes = recipes.filter(sees)
    // No recipe has this name: no recipes at all would mean all of them.
    if limited.recipes.isEmpty { limited.recipes = [""] }
    return limited
  }

  package func sees(recipe: String) -> Bool {
    recipes.isEmpty || recipes.contains { $0.hasSameScalars(as: recipe) }
  }

  /// The cause of a run that it asks for.
  ///
  /// - Parameter assistant: The name that the assistant gives itself, if the caller speaks through one.
  package func asking(_ cause: RunCause, through assistant: String? = nil) -> RunCause {
    var cause = cause
    let isOwn = !isToken && account.hasSameScalars(as: FolderLock.name(of: geteuid()))
    // A run that the agent's own account starts counts as started by hand.
    cause.by = isOwn && assistant == nil ? nil : name
    cause.isToken = isToken
    cause.assistant = assistant.map {
      let name = $0.safe.trimmed.shortened(to: 60)
      return name.isEmpty ? RunCause.unnamedAssistant : name
    }
    return cause
  }

  /// - Parameter account: This process's account if nil.
  package init(name: String, account: String? = nil) {
    self.name = name
    self.account = account ?? FolderLock.name(of: geteuid())
  }

  /// - Parameters:
  ///   - account: The account at the other end.
  ///   - person: The person that the client says it speaks for.
  ///   - isOwn: Whether it may ask what is reserved for programs of the agent's account.
  package init(account: uid_t, person: String? = nil, isOwn: Bool = true) {
    self.isOwn = isOwn
    let mayName = account == geteuid() || account == 0
    self.account = FolderLock.name(of: account)
    name = person.flatMap { mayName && !$0.trimmed.isEmpty ? $0 : nil } ?? self.account
  }
}
