import Glibc

/// Why something could not be done with a file or folder.
public struct FileError: Error, Hashable, Sendable {
  /// The operation that failed.
  public enum Operation: String, Sendable {
    /// Reading a file's content.
    case read
    /// Creating or replacing a file.
    case write
    /// Making a folder.
    case makeFolder = "make folder"
    /// Listing a folder.
    case list
    /// Removing a file or an empty folder.
    case remove
    /// Giving a file or folder another path.
    case move
    /// Adding to the end of a file.
    case append = "append to"
    /// Asking what is at a path.
    case inspect
  }

  /// Why it could not be done.
  public enum Reason: Hashable, Sendable {
    /// The system refused, with this `errno`.
    case system(Int32)
    /// The file has more bytes than the limit that was given.
    case tooLarge(limit: Int)
    /// It is neither a file with bytes of its own nor a folder.
    case notRegular(Special)
  }

  /// A file that is neither a regular file nor a folder.
  public enum Special: String, Hashable, Sendable {
    /// A named pipe, which waits for another program.
    case pipe
    /// A socket.
    case socket
    /// A device.
    case device

    /// Reads the kind from a file's mode; nil for a regular file or a folder.
    init?(_ mode: mode_t) {
      switch mode & S_IFMT {
      case S_IFREG, S_IFDIR: return nil
      case S_IFIFO: self = .pipe
      case S_IFSOCK: self = .socket
      default: self = .device
      }
    }
  }

  /// The operation that failed.
  public var operation: Operation
  /// The path, as it was given.
  public var path: String
  /// Why it could not be done.
  public var reason: Reason

  /// Creates an error.
  public init(_ operation: Operation, _ path: String, _ reason: Reason) {
    self.operation = operation
    self.path = path
    self.reason = reason
  }

  /// Creates an error from the `errno` of a call that just failed.
  init(_ operation: Operation, _ path: String) {
    self.init(operation, path, .system(errno))
  }

  /// The system's error number, if the system refused.
  public var code: Int32? { if case .system(let code) = reason { code } else { nil } }

  /// Whether there is nothing at the path.
  public var isNotFound: Bool { code == ENOENT }
}

extension FileError: CustomStringConvertible {
  /// One sentence without a full stop: `cannot write 'x': no space left on device (ENOSPC)`.
  public var description: String {
    let cause =
      switch reason {
      case .system(let code): systemErrorText(code)
      case .tooLarge(let limit): "it has more than the \(limit) bytes that are allowed"
      case .notRegular(let what): "it is a \(what.rawValue), not a regular file"
      }
    // A listing shows invalid characters like this, and no path leads there.
    let help = isNotFound && path.unicodeScalars.contains("\u{FFFD}") ? "; if its name isn't in UTF-8, rename it" : ""
    return "cannot \(operation.rawValue) '\(path)': \(cause)\(help)"
  }
}

/// The meaning of an `errno` and its name, in English in every locale: `no space left on device (ENOSPC)`.
public func systemErrorText(_ code: Int32) -> String {
  switch code {
  case EPERM: "operation not permitted (EPERM)"
  case ENOENT: "no such file or folder (ENOENT)"
  case EINTR: "interrupted by a signal (EINTR)"
  case EIO: "input or output error (EIO)"
  case E2BIG: "the arguments are too long (E2BIG)"
  case ENXIO: "no such device (ENXIO)"
  case EBADF: "the file is not open for that (EBADF)"
  case EAGAIN: "temporarily not available (EAGAIN)"
  case ENOMEM: "out of memory (ENOMEM)"
  case EACCES: "permission denied (EACCES)"
  case EBUSY: "in use (EBUSY)"
  case EEXIST: "it exists already (EEXIST)"
  case EXDEV: "the two paths are on different file systems (EXDEV)"
  case ENODEV: "no such device (ENODEV)"
  case ENOTDIR: "part of the path is not a folder (ENOTDIR)"
  case EISDIR: "it is a folder (EISDIR)"
  case EINVAL: "invalid argument (EINVAL)"
  case ENFILE: "too many open files in the system (ENFILE)"
  case EMFILE: "too many open files in this process (EMFILE)"
  case ETXTBSY: "it is a program that is running (ETXTBSY)"
  case EFBIG: "file too large (EFBIG)"
  case ENOSPC: "no space left on device (ENOSPC)"
  case EROFS: "read-only file system (EROFS)"
  case EMLINK: "too many links (EMLINK)"
  case EPIPE: "the reading end is closed (EPIPE)"
  case ENAMETOOLONG: "the name is too long (ENAMETOOLONG)"
  case ENOSYS: "not supported by this system (ENOSYS)"
  case ENOTEMPTY: "the folder is not empty (ENOTEMPTY)"
  case ELOOP: "too many symbolic links (ELOOP)"
  case ENOTSUP: "not supported (ENOTSUP)"
  case EADDRINUSE: "the address is in use (EADDRINUSE)"
  case ECONNREFUSED: "connection refused (ECONNREFUSED)"
  case ECONNRESET: "connection reset by the other side (ECONNRESET)"
  case ETIMEDOUT: "timed out (ETIMEDOUT)"
  case EDQUOT: "disk quota exceeded (EDQUOT)"
  case ESTALE: "the network folder has changed below (ESTALE)"
  default: "system error \(code)"
  }
}
