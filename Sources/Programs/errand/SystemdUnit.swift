import ActionKit
import Agent
import Operations
import AgentRuntime
import Basics
import Glibc
import Recipes

/// The unit that makes systemd keep `errand serve` running, with this program's and this workspace's paths.
///
/// The hardening allows the needs of recipes: the network, the state, and the folders that connections may write to.
/// For everything else that it forbids, the unit names the line that allows it. A user's unit has no hardening, because
/// a user's manager can't set most of it up.
func systemdUnit(for workspace: Workspace, isUsers: Bool) -> String {
  let program = realPath(of: "/proc/self/exe") ?? "errand"
  let config = workspace.configurationPath.map { " --config \(quoted($0))" } ?? ""
  let secrets = isUsers ? "%h/.config/errand" : "/etc/errand"
  let head =
    isUsers
    ? """
    # Save as ~/.config/systemd/user/errand.service, then: systemctl --user enable --now errand
    # So that it also runs while you are not logged in: loginctl enable-linger
    """
    : """
    # Save as /etc/systemd/system/errand.service, then: systemctl enable --now errand
    """
  let network = isUsers ? "" : "\nWants=network-online.target\nAfter=network-online.target"
  let user = isUsers ? "" : "\nUser=\(FolderLock.name(of: getuid()))"
  return """
    \(head)
    [Unit]
    Description=Errand, the automation agent of \(unitText(workspace.root))
    Documentation=man:systemd.service(5)\(network)

    [Service]
    Type=notify
    ExecStart=\(quoted(program)) serve\(config) --state \(quoted(workspace.stateFolder))
    ExecReload=/bin/kill -HUP $MAINPID
    WorkingDirectory=\(unitText(workspace.root))\(user)
    # Secrets, one NAME=value a line; a file of mode 0600\(isUsers ? "" : " that root owns").
    EnvironmentFile=-\(secrets)/secrets.env
    # Or each as a credential, which only this unit can read: a file of its name, or one that systemd-creds encrypted.
    #LoadCredential=NAME:\(secrets)/NAME
    #LoadCredentialEncrypted=NAME:\(secrets)/NAME.cred
    Restart=on-failure
    RestartSec=5
    # Restarting doesn't help: the command is wrong, a file is missing or can't be written, another agent holds the folder,
    # or errand.yaml is faulty.
    RestartPreventExitStatus=\(ExitCode.isFinal.map { "\($0.rawValue)" }.joined(separator: " "))
    WatchdogSec=60
    # Steps in flight may finish; a second signal ends them at once, which loses no state.
    TimeoutStopSec=120
    KillMode=mixed
    UMask=0077
    \(isUsers ? "" : sandbox(for: workspace) + "\n")
    [Install]
    WantedBy=\(isUsers ? "default" : "multi-user").target
    """
}

/// The restrictions of the unit, each with its effect on recipes and the way to lift it.
private func sandbox(for workspace: Workspace) -> String {
  """

  # The sandbox: it forbids the following, which works by hand. To allow more: systemctl edit errand, and below
  # [Service] the line that is named.
  # Files may be written in the folders of errand.yaml, of the state and of connections, and nowhere else:
  #   ReadWritePaths=/srv/more        or all but /usr, /boot and /etc: ProtectSystem=full
  ProtectSystem=strict
  ReadWritePaths=\(list(writablePaths(of: workspace)))
  \(fixedFiles(of: workspace))
  ReadOnlyPaths=\(list(fixedPaths(of: workspace)))
  # The unit has its own /tmp, without the files of other programs: PrivateTmp=no
  PrivateTmp=yes
  # Devices, such as serial ports and disks: PrivateDevices=no
  PrivateDevices=yes
  # Commands can't become another user: sudo, su, ping and other set-user-ID programs fail. All of these lines have to be
  # answered with =no, and RestrictAddressFamilies and SystemCallFilter with an empty value: each of them implies the first.
  NoNewPrivileges=yes
  LockPersonality=yes
  ProtectClock=yes
  ProtectControlGroups=yes
  ProtectHostname=yes
  ProtectKernelLogs=yes
  ProtectKernelModules=yes
  ProtectKernelTunables=yes
  RestrictRealtime=yes
  RestrictSUIDSGID=yes
  SystemCallArchitectures=native
  # Commands can use the system calls of services, but not the calls for debuggers, mounts, modules and so on:
  #   SystemCallFilter=@debug         or all of them: SystemCallFilter=
  SystemCallFilter=@system-service
  SystemCallErrorNumber=EPERM
  # They have only the user's rights, even as root: CapabilityBoundingSet=~
  CapabilityBoundingSet=
  # They see no processes of other users: ProtectProc=default
  ProtectProc=invisible
  # Sockets other than local ones and the Internet's, such as Bluetooth: RestrictAddressFamilies=
  RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
  # Commands may make code while they run, as Node, Java and Python's libraries do. If yours do not: MemoryDenyWriteExecute=yes
  """
}

/// The comment on the files that may not be written.
private func fixedFiles(of workspace: Workspace) -> String {
  workspace.configuration.server.allowsEditing
    ? """
    # But never plugin locks and secrets: ReadOnlyPaths=
    #   Recipes, their tests and errand.yaml may be written, because errand.yaml has: server: { edit: true }
    """
    : """
    # But never the files that control Errand: errand.yaml, recipes, plugin locks and secrets: ReadOnlyPaths=
    #   To let people edit recipes in the browser: server: { edit: true } in errand.yaml, and make the unit anew.
    """
}

/// Paths that need not be there, as the unit lists them.
private func list(_ paths: [String]) -> String {
  paths.map { "-" + quoted($0, isCommand: false) }.joined(separator: " ")
}

/// The files that the agent reads and never writes: its configuration, recipes, the locks of plugins, and files of
/// secrets.
///
/// Recipes aren't included if a connection may write recipes; they and errand.yaml aren't if people may edit them in the
/// browser; and neither is a folder that the agent has to write to.
private func fixedPaths(of workspace: Workspace) -> [String] {
  let configuration = workspace.configuration
  let mayWriteRecipes = configuration.connections.contains { connection in
    workspace.catalog.plugin(connection.plugin).flatMap { configuration.knownSettings(of: connection.name, $0) }?[
      "allowRecipes"]?.bool == true
  }
  let isEdited = configuration.server.allowsEditing
  let secrets = configuration.secrets
  let paths =
    (isEdited ? [] : [workspace.configurationPath ?? "errand.yaml"]) + ["plugins"]
    + (mayWriteRecipes || isEdited ? [] : workspace.recipeFolders)
    + secrets.files + secrets.ageFiles + [secrets.ageIdentity].compactMap(\.self)
  let writable = writablePaths(of: workspace)
  return paths.map { Workspace.absolute($0, in: workspace.root) }.withoutRepeats.filter { path in
    !writable.contains { $0 == path || $0.hasPrefix(path + "/") }
  }
}

/// The folders that recipes may write to: errand.yaml's, the state's, and the ones named by connections; and those that
/// people edit in the browser, with the repository of Git that commits their files.
private func writablePaths(of workspace: Workspace) -> [String] {
  var paths = [workspace.root, workspace.stateFolder]
  if workspace.configuration.server.allowsEditing {
    let folders = workspace.recipeFolders + workspace.recipeFolders.map { "\($0)/tests" }
    paths += folders + folders.compactMap(repository)
  }
  for connection in workspace.configuration.connections {
    // Secrets are not read for this, so a folder that is computed from one is unknown here.
    var secrets = ValueMap()
    for secret in connection.secrets { secrets[secret.name] = .string("secret") }
    guard let settings = try? connection.settings.evaluate(in: [.map(secrets)]).map else { continue }
    paths += [settings["folder"]?.string].compactMap(\.self) + (settings["others"]?.list ?? []).compactMap(\.string)
  }
  return paths.map { Workspace.absolute($0, in: workspace.root) }.withoutRepeats
}

/// The folder `.git` of the work tree that a folder is in.
private func repository(of folder: String) -> String? {
  var folder = realPath(of: folder) ?? folder
  while folder != "/", folder != "." {
    if Workspace.isFolder("\(folder)/.git") { return "\(folder)/.git" }
    folder = Workspace.folder(of: folder)
  }
  return nil
}

func realPath(of path: String) -> String? {
  guard let resolved = realpath(path, nil) else { return nil }
  defer { free(resolved) }
  return String(cString: resolved)
}

/// The text with specifiers escaped.
private func unitText(_ text: String) -> String { text.map { $0 == "%" ? "%%" : String($0) }.joined() }

/// The text as one word of a command line, whose variables systemd expands, or of another list.
private func quoted(_ text: String, isCommand: Bool = true) -> String {
  let escaped = unitText(text).map { character in
    switch character {
    case "$" where isCommand: "$$"
    case "\"", "\\": "\\\(character)"
    default: String(character)
    }
  }
  return text.contains { " \"\\$%;'".contains($0) } ? "\"\(escaped.joined())\"" : text
}
