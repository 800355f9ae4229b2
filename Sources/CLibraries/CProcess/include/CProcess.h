// How commands are started and kept, and what Swift's view of the C library lacks for that.
//
// A command is not started by this program but by a keeper, a process of its own between the two: it is told by a pipe
// to end the command, and by the pipe's end that this program is gone, however that came about. It adopts what the
// command started and lost (PR_SET_CHILD_SUBREAPER), also in another group or session, kills it when the command has
// ended, and tells by another pipe what came of it. The command is killed with its keeper (PR_SET_PDEATHSIG).

#ifndef ERRAND_CPROCESS_H
#define ERRAND_CPROCESS_H

#include <sys/types.h>

/// Makes a pipe whose ends no other program inherits; gives 0 or an errno.
int cprocess_pipe(int ends[_Nonnull 2]);

/// Keeps other processes of the same user from reading this one's environment and memory.
void cprocess_hide(void);

/// Lets this process have as many files open as the system allows it, at most 65,536; commands get the limit of before.
void cprocess_raise_files(void);

/// What is to be started.
struct CProcessCommand {
  const char *_Nonnull path;
  char *_Nullable const *_Nonnull words;
  char *_Nullable const *_Nonnull environment;
  int folder, input, output, errors;
  /// How many milliseconds it has to end by itself (SIGTERM) when this program is gone; 0 kills it at once.
  int patience;
};

/// What a keeper tells, each in one piece.
struct CProcessRecord {
  int kind, value;
  char name[16];
};

enum {
  /// The command runs, or, with an errno, it could not be started; the first that is told.
  CProcessStarted = 1,
  /// The command's number.
  CProcessNumber = 2,
  /// A process that cannot be ended, with its name.
  CProcessLeft = 3,
  /// The command ended, with its wait status; the last that is told.
  CProcessExited = 4,
};

enum {
  /// What the keeper is told to ask the command to end (SIGTERM).
  CProcessEnd = 'T',
  /// What it is told to kill all that the command is.
  CProcessKill = 'K',
};

/// The most descriptors that a keeper keeps.
#define CPROCESS_KEPT 64

/// Starts a keeper with a command; gives 0 or an errno.
///
/// The keeper has no descriptor but the command's, until it runs, the ends of its pipes (`control` to read from, `report`
/// to write to), and those that it is to keep: locks, which stay held until nothing is left of the command.
int cprocess_start(
    pid_t *_Nonnull pid, const struct CProcessCommand *_Nonnull command, int control, int report,
    const int *_Nonnull kept, int count);

#endif
