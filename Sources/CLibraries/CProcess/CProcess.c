#define _GNU_SOURCE
#include "CProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// The keeper stands between this program and a command: a copy of this program with one thread, which does nothing but
// wait. It runs only what may be run after a fork in a program with threads: system calls, and no memory is asked for.

int cprocess_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno; }

void cprocess_hide(void) { prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

static struct rlimit filesOfBefore;

void cprocess_raise_files(void) {
  struct rlimit limit;
  const rlim_t most = 65536;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  rlim_t wanted = limit.rlim_max < most ? limit.rlim_max : most;
  if (limit.rlim_cur >= wanted) return;
  struct rlimit raised = {.rlim_cur = wanted, .rlim_max = limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) filesOfBefore = limit;
}

// MARK: What runs in the keeper

struct Keeper {
  int control, report;
  pid_t command;
  int status;
  int hasExited;
};

static void tell(int report, int kind, int value, const char *name) {
  struct CProcessRecord record = {.kind = kind, .value = value};
  if (name) strncpy(record.name, name, sizeof(record.name) - 1);
  // What is told is less than a pipe takes in one piece; if nobody reads any more, nobody needs it.
  ssize_t written = write(report, &record, sizeof(record));
  (void)written;
}

static long long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

// Closes all but some descriptors.
static void closeAllBut(const int *kept, int count) {
  unsigned from = 0;
  while (1) {
    unsigned next = ~0U;
    for (int i = 0; i < count; i += 1)
      if ((unsigned)kept[i] >= from && (unsigned)kept[i] < next) next = (unsigned)kept[i];
    if (next > from && syscall(SYS_close_range, from, next - 1, 0) != 0) {
      // Before Linux 5.9; nothing opens more than this unless it raised its own limit.
      for (unsigned other = from; other < next && other < 65536; other += 1) close((int)other);
    }
    if (next == ~0U) return;
    from = next + 1;
  }
}

// The number that a text begins with; below zero if it begins with none.
static int number(const char *text) {
  int value = -1;
  while (*text >= '0' && *text <= '9' && value < 100000000) value = (value < 0 ? 0 : value * 10) + (*text++ - '0');
  return value;
}

static ssize_t contents(const char *path, char *buffer, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t count = read(file, buffer, size - 1);
  close(file);
  buffer[count > 0 ? count : 0] = 0;
  return count;
}

// The children of the keeper, at most so many: those of the command that lost their parents are among them.
static int children(pid_t *found, int most) {
  static char buffer[1 << 16];
  int count = 0;
  if (contents("/proc/thread-self/children", buffer, sizeof(buffer)) >= 0) {
    for (char *word = buffer; *word && count < most;) {
      int pid = number(word);
      if (pid > 0) found[count++] = pid;
      while (*word && *word != ' ') word += 1;
      while (*word == ' ') word += 1;
    }
    return count;
  }
  // A kernel that lists no children.
  int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return 0;
  long size;
  while ((size = syscall(SYS_getdents64, folder, buffer, sizeof(buffer))) > 0) {
    for (long at = 0; at < size && count < most;) {
      unsigned short length;
      memcpy(&length, buffer + at + 16, sizeof(length));
      int pid = number(buffer + at + 19);
      at += length;
      char path[64], stat[512];
      if (pid <= 0 || snprintf(path, sizeof(path), "/proc/%d/stat", pid) < 0) continue;
      if (contents(path, stat, sizeof(stat)) <= 0) continue;
      const char *end = strrchr(stat, ')');
      if (end && strlen(end) > 4 && number(end + 4) == getpid()) found[count++] = pid;
    }
  }
  close(folder);
  return count;
}

// Takes note of what ended; gives whether anything is left.
static int reap(struct Keeper *keeper) {
  while (1) {
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid == 0) return 1;
    if (pid < 0) return errno == EINTR;
    if (pid == keeper->command) {
      keeper->status = status;
      keeper->hasExited = 1;
    }
  }
}

static pid_t left[256];

// Kills all that the command started, until nothing is left or what is left cannot be killed; gives its number.
static int endAll(struct Keeper *keeper) {
  if (!keeper->hasExited) kill(-keeper->command, SIGKILL);
  long long start = milliseconds();
  while (reap(keeper)) {
    // A child whose parent was killed is the keeper's own by the next round, and cannot be another by its number.
    int count = children(left, 256), refused = 0;
    for (int i = 0; i < count; i += 1)
      if (kill(left[i], SIGKILL) != 0 && errno == EPERM) refused += 1;
    long long elapsed = milliseconds() - start;
    if (elapsed > 2000 || (elapsed > 200 && refused == count)) return reap(keeper) ? children(left, 256) : 0;
    poll(NULL, 0, elapsed < 20 ? 1 : 10);
  }
  return 0;
}

static void named(pid_t pid, char name[16]) {
  char path[64];
  name[0] = 0;
  if (snprintf(path, sizeof(path), "/proc/%d/comm", pid) < 0) return;
  ssize_t count = contents(path, name, 16);
  if (count > 0 && name[count - 1] == '\n') name[count - 1] = 0;
}

// Asks the command to end, for a program that removes its locks then, and waits.
static void endGently(struct Keeper *keeper, int children, int patience) {
  kill(-keeper->command, SIGTERM);
  long long end = milliseconds() + patience, left;
  while (!keeper->hasExited && (left = end - milliseconds()) > 0) {
    struct pollfd watched = {.fd = children, .events = POLLIN};
    if (poll(&watched, 1, (int)left) <= 0) continue;
    struct signalfd_siginfo info;
    while (read(children, &info, sizeof(info)) > 0) continue;
    reap(keeper);
  }
}

// This program is gone: nothing of the command may run beside its second try, and until then the locks stay held.
static void endAfterAgent(struct Keeper *keeper, const int *kept, int count) {
  int rest;
  while ((rest = endAll(keeper)) > 0) {
    char name[16], text[160];
    named(left[0], name);
    for (char *c = name; *c; c += 1)
      if (*c < 0x20 || *c == '"' || *c == '\\' || *c == 0x7F) *c = '?';
    int size = snprintf(
        text, sizeof(text), "{\"pid\":%d,\"program\":\"%s, which a command that was killed left running\"}\n", left[0], name);
    for (int i = 0; i < count; i += 1)
      if (ftruncate(kept[i], 0) == 0 && pwrite(kept[i], text, (size_t)size, 0) < 0) continue;
    poll(NULL, 0, 200);
  }
  // A lock names nobody who does not hold it any more.
  for (int i = 0; i < count; i += 1)
    if (ftruncate(kept[i], 0) != 0) continue;
}

static int becomeCommand(const struct CProcessCommand *command) {
  if (setpgid(0, 0) != 0 || fchdir(command->folder) != 0) return errno;
  int ends[3] = {command->input, command->output, command->errors};
  for (int i = 0; i < 3; i += 1)
    if ((ends[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, 10)) < 0) return errno;
  for (int i = 0; i < 3; i += 1)
    if (dup2(ends[i], i) < 0) return errno;
  struct sigaction usual = {.sa_handler = SIG_DFL};
  for (int signal = 1; signal < NSIG; signal += 1) sigaction(signal, &usual, NULL);
  // Programs that use select(2) count on the usual limit.
  if (filesOfBefore.rlim_cur) setrlimit(RLIMIT_NOFILE, &filesOfBefore);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  // Another process that is just being started has, until it has become its program, what was open in this one for
  // writing when it was forked: also a program that was stored a moment ago.
  for (int i = 0; i < 50; i += 1) {
    execve(command->path, command->words, command->environment);
    if (errno != ETXTBSY) break;
    struct timespec pause = {.tv_nsec = 2000000};
    nanosleep(&pause, NULL);
  }
  return errno;
}

static void keep(const struct CProcessCommand *command, int control, int report, const int *kept, int count) {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  prctl(PR_SET_NAME, "command-keeper", 0, 0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // Ignored, it would tell of no end.
  struct sigaction usual = {.sa_handler = SIG_DFL};
  sigaction(SIGCHLD, &usual, NULL);
  setpgid(0, 0);
  int needed[CPROCESS_KEPT + 6] = {control, report, command->input, command->output, command->errors, command->folder};
  for (int i = 0; i < count; i += 1) needed[6 + i] = kept[i];
  closeAllBut(needed, 6 + count);

  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  int children = signalfd(-1, &ended, SFD_CLOEXEC | SFD_NONBLOCK);
  int start[2];
  if (children < 0 || pipe2(start, O_CLOEXEC) != 0) {
    tell(report, CProcessStarted, errno, NULL);
    _exit(1);
  }
  struct Keeper keeper = {.control = control, .report = report};
  keeper.command = _Fork();
  if (keeper.command == 0) {
    // The keeper has one thread, so that this holds as long as it does.
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    // Where the command's own three descriptors do not come to be.
    int answer = fcntl(start[1], F_DUPFD_CLOEXEC, 10);
    close(start[1]);
    int code = becomeCommand(command);
    ssize_t written = write(answer, &code, sizeof(code));
    (void)written;
    _exit(127);
  }
  int code = keeper.command < 0 ? errno : 0;
  close(start[1]);
  if (code == 0 && read(start[0], &code, sizeof(code)) != sizeof(code)) code = 0;
  close(start[0]);
  for (int i = 2; i < 6; i += 1) close(needed[i]);
  tell(report, CProcessStarted, code, NULL);
  if (code != 0) _exit(1);
  tell(report, CProcessNumber, keeper.command, NULL);

  while (!keeper.hasExited) {
    struct pollfd watched[2] = {{.fd = control, .events = POLLIN}, {.fd = children, .events = POLLIN}};
    if (poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents) {
      struct signalfd_siginfo info;
      while (read(children, &info, sizeof(info)) > 0) continue;
      reap(&keeper);
    }
    if (!watched[0].revents) continue;
    char order = 0;
    ssize_t size = read(control, &order, 1);
    if (size < 0) continue;
    if (size == 0) {
      if (!keeper.hasExited && command->patience > 0) endGently(&keeper, children, command->patience);
      endAfterAgent(&keeper, kept, count);
      _exit(0);
    }
    if (keeper.hasExited) break;
    if (order != CProcessEnd) break;
    kill(-keeper.command, SIGTERM);
  }
  int rest = endAll(&keeper);
  for (int i = 0; i < rest; i += 1) {
    char name[16];
    named(left[i], name);
    tell(report, CProcessLeft, left[i], name);
  }
  tell(report, CProcessExited, keeper.status, NULL);
  _exit(0);
}

// MARK: What runs in this program

int cprocess_start(
    pid_t *pid, const struct CProcessCommand *command, int control, int report, const int *kept, int count) {
  if (count < 0 || count > CPROCESS_KEPT) return EINVAL;
  sigset_t all, before;
  sigfillset(&all);
  // No handler of this program runs in the keeper, which leaves them blocked.
  pthread_sigmask(SIG_SETMASK, &all, &before);
  // Other than fork, it takes no lock of the C library, which another thread may hold.
  *pid = _Fork();
  if (*pid == 0) keep(command, control, report, kept, count);
  int code = *pid < 0 ? errno : 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return code;
}
