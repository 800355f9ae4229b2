// What Swift's view of the C library lacks for starting processes: GNU's extensions of posix_spawn, and pipe2.

#ifndef ERRAND_CPROCESS_H
#define ERRAND_CPROCESS_H

#include <sys/types.h>

/// Makes a pipe whose ends no other program inherits; gives 0 or an errno.
int cprocess_pipe(int ends[_Nonnull 2]);

/// Starts a program in a process group of its own, with three descriptors and no other, in a folder, with no signal
/// blocked or ignored; gives 0 or an errno.
int cprocess_spawn(
    pid_t *_Nonnull pid, const char *_Nonnull path, char *_Nullable const *_Nonnull words,
    char *_Nullable const *_Nonnull environment, const char *_Nonnull folder, int input, int output, int errors);

#endif
