import Agent
import Operations
import Testing

@Suite struct ServiceUnitTests {
  @Test(
    arguments: [
      (100, "100", "0::/system.slice/errand.service\n", "systemctl stop errand"),
      (100, "100", "0::/system.slice/system-errand.slice/errand@school.service\n", "systemctl stop errand@school"),
      (
        100, "100", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/errand.service\n",
        "systemctl --user stop errand"
      ),
      (100, "100", "12:cpu:/\n0::/system.slice/two words.service\n", "systemctl stop 'two words'"),
      // A shell that a service has started, a terminal, and a machine without systemd.
      (100, "99", "0::/system.slice/ssh.service\n", nil),
      (100, "100", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-spawn-1.scope\n", nil),
      (100, nil, "0::/\n", nil),
      (100, "100", "", nil),
    ] as [(Int, String?, String, String?)])
  func `is known where systemd has started the process`(
    _ example: (pid: Int, startedAs: String?, group: String, stop: String?)
  ) {
    #expect(
      ServiceUnit(of: example.pid, startedAs: example.startedAs, controlGroup: example.group)?.stop == example.stop)
  }
}
