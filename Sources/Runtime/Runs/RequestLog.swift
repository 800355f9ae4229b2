import ActionKit
import Basics
import Synchronization

/// The requests of one attempt: method, redacted URL, status, bytes and time, never bodies; and what its programs print.
///
/// Steps share services, so the attempt is found through the task that makes the request.
final class RequestLog: Sendable {
  private let requests = Mutex<[ServiceRequest]>([])
  private let printer = Mutex<StepPrinter?>(nil)

  @TaskLocal private static var current: RequestLog?

  /// An attempt that makes thousands of requests keeps the first ones.
  private static let limit = 100

  /// The callback by which a service reports its requests.
  static func record(_ request: ServiceRequest) {
    current?.requests.withLock { if $0.count < limit { $0.append(request) } }
  }

  static func recording<Output>(
    _ log: RequestLog, _ body: () async throws(ActionError) -> Output
  ) async throws(ActionError) -> Output {
    // `withValue` doesn't support typed errors.
    let result: Result<Output, ActionError> = await $current.withValue(log) {
      do throws(ActionError) { return .success(try await body()) } catch { return .failure(error) }
    }
    return try result.get()
  }

  /// What the attempt's programs print goes to; made when it is first asked for.
  func printer(_ make: () -> StepPrinter) -> StepPrinter {
    printer.withLock { printer in
      let made = printer ?? make()
      printer = made
      return made
    }
  }

  /// Passes on what the attempt's programs printed last.
  func finishPrinting() { printer.withLock { $0 }?.finish() }

  /// The requests as the state keeps them.
  func values(redactedBy redactor: Redactor) -> [Value] {
    requests.withLock { $0 }.map { request in
      var map = ValueMap()
      map["method"] = .string(request.method)
      map["url"] = .string(redactor.redact(request.redactedURL))
      map["status"] = request.status.map { .int($0) }
      map["bytes"] = .int(request.bytes)
      map["took"] = .string("\(request.duration)")
      return .map(map)
    }
  }
}
