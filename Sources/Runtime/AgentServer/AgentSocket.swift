package import Agent
import AgentPages
import Basics
import HTTPServer
import Operations
import Synchronization

/// `api.sock`: where programs on the machine ask the agent that holds a folder.
///
/// Until the first one comes, it costs a descriptor and a thread that waits.
package final class AgentSocket: Sendable {
  private let folder: String
  private let server: DeferredServer
  private let interface: Interface

  /// The server, made when it is needed first.
  private final class Interface: Sendable {
    private let made = Mutex<APIServer?>(nil)
    private let make: @Sendable () -> APIServer

    init(_ make: @escaping @Sendable () -> APIServer) { self.make = make }

    var value: APIServer {
      made.withLock { made in
        let value = made ?? make()
        made = value
        return value
      }
    }

    var ifMade: APIServer? { made.withLock { $0 } }
  }

  /// Starts to listen, replacing the socket of a dead agent.
  ///
  /// - Parameters:
  ///   - lock: The folder's lock, which proves that the agent is dead.
  ///   - makeAPI: Makes what answers, when the first client comes.
  package init(
    in folder: String, holding lock: FolderLock, _ makeAPI: @escaping @Sendable () -> APIServer
  ) throws(AgentError) {
    self.folder = folder
    let interface = Interface(makeAPI)
    self.interface = interface
    let listener = try SocketAddress.listen(in: folder, holding: lock)
    do throws(HTTPServerError) {
      server = try DeferredServer(
        listening: listener, unavailable: { Problem(.missingLibrary, $0).response },
        { descriptor throws(HTTPServerError) in try interface.value.server(of: descriptor, isOwn: true) })
    } catch {
      throw AgentError(.unavailable, error.message)
    }
  }

  /// What answers here, which may listen elsewhere as well.
  package var api: APIServer { interface.value }

  /// Accepts nothing more, and returns when what was asked is answered.
  ///
  /// Clients that follow runs have a moment to read the last events, which came when the agent stopped.
  package func stop() async {
    // First, so that no client finds a socket that answers nothing.
    SocketAddress.remove(from: folder)
    await interface.ifMade?.settle()
    await server.stop()
  }
}
