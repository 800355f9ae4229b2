import Glibc

/// The unit with which systemd keeps `errand serve` running, with this program's and this workspace's paths.
///
/// The hardening leaves what recipes need: the network, the state, and the folder of `errand.yaml`, into which they may
/// write files. Secrets belong into credentials, or into an environment file that only root reads.
func systemdUnit(for workspace: Workspace) -> String {
  let program = realPath(of: "/proc/self/exe") ?? "errand"
  let config = workspace.configurationPath.map { " --config \(quoted($0))" } ?? ""
  return """
    # Save as /etc/systemd/system/errand.service, then: systemctl enable --now errand
    [Unit]
    Description=Errand, the automation agent of \(workspace.root)
    Documentation=man:systemd.service(5)
    Wants=network-online.target
    After=network-online.target

    [Service]
    Type=notify-reload
    ExecStart=\(quoted(program)) serve\(config) --state \(quoted(workspace.stateFolder))
    WorkingDirectory=\(unitText(workspace.root))
    User=\(userName)
    # Secrets, one NAME=value a line; a file of mode 0600 that root owns.
    EnvironmentFile=-/etc/errand/secrets.env
    # Or each as a credential, which only this unit can read: a file of its name, or one that systemd-creds encrypted.
    #LoadCredential=NAME:/etc/errand/NAME
    #LoadCredentialEncrypted=NAME:/etc/errand/NAME.cred
    Restart=on-failure
    RestartSec=5
    # Nothing is won by trying again: another agent has the folder, or errand.yaml is at fault.
    RestartPreventExitStatus=75 78
    WatchdogSec=60
    # What is in flight may finish; a second signal ends it at once, and the state is made for that.
    TimeoutStopSec=120
    KillMode=mixed
    UMask=0077
    NoNewPrivileges=yes
    PrivateDevices=yes
    PrivateTmp=yes
    ProtectSystem=strict
    ProtectControlGroups=yes
    ProtectKernelLogs=yes
    ProtectKernelModules=yes
    ProtectKernelTunables=yes
    ReadWritePaths=-\(quoted(workspace.root)) -\(quoted(workspace.stateFolder))
    RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
    RestrictRealtime=yes
    RestrictSUIDSGID=yes
    LockPersonality=yes
    MemoryDenyWriteExecute=yes
    SystemCallArchitectures=native

    [Install]
    WantedBy=multi-user.target
    """
}

private var userName: String {
  guard let entry = getpwuid(getuid()), let name = entry.pointee.pw_name else { return "\(getuid())" }
  return String(cString: name)
}

private func realPath(of path: String) -> String? {
  guard let resolved = realpath(path, nil) else { return nil }
  defer { free(resolved) }
  return String(cString: resolved)
}

/// A text in which systemd takes no specifier and no variable for one.
private func unitText(_ text: String) -> String { text.map { $0 == "%" ? "%%" : String($0) }.joined() }

/// The text as one word of a command line.
private func quoted(_ text: String) -> String {
  let escaped = unitText(text).map { character in
    switch character {
    case "$": "$$"
    case "\"", "\\": "\\\(character)"
    default: String(character)
    }
  }
  return text.contains { " \"\\$%;'".contains($0) } ? "\"\(escaped.joined())\"" : text
}
