#pragma once

/// Has this process say where it was when it dies by a signal that means a crash: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE
/// and SIGSEGV. It then dies of the signal as it would have.
///
/// `program` is what the text calls it, such as `errand 0.2.0`; it has to stay where it is.
void ccrash_arm(const char *program);

/// Has the handler also make a file at `path` if the process brought itself down, by a trap, an abort or a touch of memory
/// that is not its own; a signal that another process sent makes none. The path has to stay where it is.
void ccrash_mark(const char *path);
