import Basics
import CCurl

/// The multi handle, which owns the connections.
// Only its thread uses it, except for `wake`, which libcurl allows from any thread.
final class MultiHandle: @unchecked Sendable {
  private let multi: UnsafeMutableRawPointer

  init?(maxConnectionsPerHost: Int) {
    guard let multi = ccurl.multi_init() else { return nil }
    self.multi = multi
    _ = ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, max(1, maxConnectionsPerHost))
    // How many idle connections are kept, for all hosts together.
    _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 256)
  }

  deinit { _ = ccurl.multi_cleanup(multi) }

  /// Ends the current or the next `sleep`.
  func wake() { _ = ccurl.multi_wakeup(multi) }

  /// Waits until a socket, a time limit or another thread has something to do.
  func sleep() { _ = ccurl.multi_poll(multi, nil, 0, 3_600_000, nil) }

  /// Advances every transfer and reports each one that ended; the callback may remove it.
  func perform(_ ended: (UnsafeMutableRawPointer, CURLcode) -> Void) {
    var running: Int32 = 0
    _ = ccurl.multi_perform(multi, &running)
    var left: Int32 = 0
    while let message = ccurl.multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
      ended(easy, ccurl_result(message))
    }
  }

  func add(_ easy: EasyHandle, _ transfer: CurlTransfer) -> HTTPError? {
    let code = ccurl.multi_add_handle(multi, easy.pointer)
    return code == CURLM_OK
      ? nil : transfer.failure.other("libcurl accepts no more transfers", sent: .nothing, elapsed: .zero)
  }

  func remove(_ easy: EasyHandle) { _ = ccurl.multi_remove_handle(multi, easy.pointer) }
}

/// A handle for one transfer after another.
final class EasyHandle {
  let pointer: UnsafeMutableRawPointer
  private let message = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
  private var headers: UnsafeMutablePointer<curl_slist>?
  /// Whether libcurl accepted every setting.
  private(set) var isSound = true

  init?() {
    guard let pointer = ccurl.easy_init() else {
      message.deallocate()
      return nil
    }
    self.pointer = pointer
    reset()
  }

  deinit {
    ccurl.easy_cleanup(pointer)
    ccurl.slist_free_all(headers)
    message.deallocate()
  }

  /// libcurl's message about the last failure; empty if there is none.
  var detail: String { String(cString: message) }

  /// Clears all settings and the copy of a body, but keeps connections.
  func reset() {
    ccurl.easy_reset(pointer)
    ccurl.slist_free_all(headers)
    headers = nil
    message.pointee = 0
    isSound = true
    set(CURLOPT_ERRORBUFFER, UnsafeRawPointer(message))
  }

  func set(_ option: CURLoption, _ value: Int) { note(ccurl_set_long(pointer, option, value)) }

  func set(_ option: CURLoption, size: Int) { note(ccurl_set_offset(pointer, option, curl_off_t(size))) }

  func set(_ option: CURLoption, _ value: String) { note(ccurl_set_text(pointer, option, value)) }

  func set(_ option: CURLoption, _ value: UnsafeRawPointer?) { note(ccurl_set_pointer(pointer, option, value)) }

  func set(_ option: CURLoption, _ receiver: curl_write_callback) {
    note(ccurl_set_receiver(pointer, option, receiver))
  }

  func setProgress(_ callback: curl_xferinfo_callback, _ context: UnsafeRawPointer) {
    set(CURLOPT_XFERINFODATA, context)
    note(ccurl_set_progress(pointer, callback))
  }

  func setBeforeRequest(_ callback: curl_prereq_callback) { note(ccurl_set_before_request(pointer, callback)) }

  /// Sends these lines; libcurl reads them until the next reset.
  func set(headerLines lines: [String]) {
    for line in lines {
      guard let longer = ccurl.slist_append(headers, line) else {
        isSound = false
        return
      }
      headers = longer
    }
    set(CURLOPT_HTTPHEADER, UnsafeRawPointer(headers))
  }

  /// Sends a copy of a body.
  func set(body: [UInt8]) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, size: body.count)
    body.withUnsafeBytes { bytes in
      // An empty array has no address, and without an address libcurl would ask for the body.
      guard let address = bytes.baseAddress else { return set(CURLOPT_COPYPOSTFIELDS, "") }
      set(CURLOPT_COPYPOSTFIELDS, address)
    }
  }

  func number(_ info: CURLINFO) -> Int { ccurl_get_long(pointer, info) }

  /// The time of the transfer so far.
  var elapsed: TimeSpan {
    let microseconds = Int(ccurl_get_offset(pointer, CURLINFO_TOTAL_TIME_T))
    return TimeSpan(nanoseconds: microseconds.multipliedReportingOverflow(by: 1000).partialValue)
  }

  private func note(_ code: CURLcode) { if code != CURLE_OK { isSound = false } }
}

/// Easy handles that wait for their next transfer; creating one costs more than resetting it.
final class EasyHandles {
  private var idle: [EasyHandle] = []

  func dequeue() -> EasyHandle? { idle.popLast() ?? EasyHandle() }

  func giveBack(_ handle: EasyHandle) {
    guard idle.count < 256 else { return }
    handle.reset()
    idle.append(handle)
  }
}
