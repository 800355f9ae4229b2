// What the machine itself takes, as whole processes: the floors that `errand` is measured beside, and the spawner that
// measures both.
//
//   floors start                     does nothing
//   floors step DIR                  makes a folder and a file in it, and appends and syncs a line four times
//   floors append FILE COUNT         appends and syncs a line, COUNT times
//   floors group FILE THREADS COUNT  the same from each thread into one file, with one sync for all that wait
//   floors loop UNITS                computes for so many units, which processor time is measured in
//   floors spawn COMMAND…            runs the command without its output, and prints its exit code, its seconds, its
//                                    seconds of processor time, its peak of memory in kilobytes, and its page faults
//   floors memory COMMAND…           the same, and prints its exit code and the kilobytes that it holds at its end: its
//                                    own, and pages of files
//
// Lines are 400 bytes, as in a journal. The spawner is a process of its own because a child's peak of memory begins
// with that of the process that started it, and this one is small.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static char line[400];

static void fail(const char *what) {
  fprintf(stderr, "floors: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int opened(const char *path) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) fail(path);
  return file;
}

static void append(int file) {
  if (write(file, line, sizeof line) != (ssize_t)sizeof line) fail("write");
}

static void append_and_sync(int file, long count) {
  for (long index = 0; index < count; index++) {
    append(file);
    if (fdatasync(file) != 0) fail("fdatasync");
  }
}

static void step(const char *folder) {
  char path[4096];
  if (mkdir(folder, 0700) != 0) fail(folder);
  if (snprintf(path, sizeof path, "%s/file", folder) >= (int)sizeof path) exit(2);
  append_and_sync(opened(path), 4);
}

// Group commit: a thread that has appended waits until a sync that began later is over. The first one that finds no
// sync under way makes the next, for all that have appended by then.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t synced = PTHREAD_COND_INITIALIZER;
static int shared_file;
static int is_syncing;
static long appended_count, synced_count, lines_of_each;

static void *append_in_group(void *unused) {
  (void)unused;
  pthread_mutex_lock(&lock);
  for (long index = 0; index < lines_of_each; index++) {
    append(shared_file);
    long own = ++appended_count;
    while (synced_count < own) {
      if (is_syncing) {
        pthread_cond_wait(&synced, &lock);
        continue;
      }
      is_syncing = 1;
      long reached = appended_count;
      pthread_mutex_unlock(&lock);
      if (fdatasync(shared_file) != 0) fail("fdatasync");
      pthread_mutex_lock(&lock);
      is_syncing = 0;
      synced_count = reached;
      pthread_cond_broadcast(&synced);
    }
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void group(const char *path, long threads, long count) {
  pthread_t thread[256];
  if (threads < 1 || threads > 256) exit(2);
  shared_file = opened(path);
  lines_of_each = count;
  for (long index = 0; index < threads; index++) {
    if (pthread_create(&thread[index], NULL, append_in_group, NULL) != 0) fail("pthread_create");
  }
  for (long index = 0; index < threads; index++) pthread_join(thread[index], NULL);
}

// The rounds of one unit, about 1.2 ms. Another number changes every figure in units, and so every bar.
enum { ROUNDS_OF_A_UNIT = 260000, CELLS = 16384 };

// Ordinary code computes, reads and writes, and each step needs the one before it. So a round mixes a number and adds it
// to a cell that the number chooses, in a table of 64 KB, and what it finds there changes the next number.
static void loop(long units) {
  static uint32_t table[CELLS];
  uint64_t number = 88172645463325252;
  for (long round = 0; round < units * ROUNDS_OF_A_UNIT; round++) {
    number ^= number << 13;
    number ^= number >> 7;
    number ^= number << 17;
    uint32_t *cell = &table[number % CELLS];
    *cell += (uint32_t)number;
    number += *cell;
  }
  // The compiler can't leave out a result that is written to a volatile variable.
  volatile uint64_t result = number;
  (void)result;
}

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

static void spawn(char **command) {
  struct timespec start, end;
  struct rusage usage;
  posix_spawn_file_actions_t actions;
  pid_t process;
  int status;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  clock_gettime(CLOCK_MONOTONIC, &start);
  errno = posix_spawnp(&process, command[0], &actions, NULL, command, environ);
  if (errno != 0) fail(command[0]);
  while (wait4(process, &status, 0, &usage) < 0) {
    if (errno != EINTR) fail("wait4");
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  printf(
      "%d %.9f %.6f %ld %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
      (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9,
      seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss, usage.ru_minflt + usage.ru_majflt);
}

// A field of /proc/PID/status, which every user may read, even of a process that hides its memory.
static long kilobytes(pid_t process, const char *field) {
  char path[64], text[256];
  long found = -1;
  snprintf(path, sizeof path, "/proc/%d/status", (int)process);
  FILE *file = fopen(path, "r");
  if (!file) fail(path);
  while (found < 0 && fgets(text, sizeof text, file)) {
    if (strncmp(text, field, strlen(field)) == 0) found = atol(text + strlen(field));
  }
  fclose(file);
  return found;
}

// The kernel keeps no peak of a process's own memory. It stops each thread of a traced process at its end, where all
// memory is still there; the last one that ends gives the figures.
static void memory(char **command) {
  pid_t process = fork();
  if (process < 0) fail("fork");
  if (process == 0) {
    int nothing = open("/dev/null", O_RDWR);
    if (dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0) fail("dup2");
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) fail("ptrace");
    execvp(command[0], command);
    fail(command[0]);
  }
  int status;
  // It stops when the program has been loaded.
  if (waitpid(process, &status, 0) != process || !WIFSTOPPED(status)) exit(1);
  if (ptrace(PTRACE_SETOPTIONS, process, NULL, PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL) != 0) {
    fail("ptrace");
  }
  long own = -1, files = -1;
  pid_t stopped = process;
  do {
    int signal = WIFSTOPPED(status) ? WSTOPSIG(status) : 0, event = status >> 16;
    if (event == PTRACE_EVENT_EXIT) {
      own = kilobytes(stopped, "RssAnon:");
      files = kilobytes(stopped, "RssFile:");
    }
    // Stops that tracing causes aren't signals for the process; a new thread begins with one.
    int is_own = event == 0 && signal != SIGTRAP && signal != SIGSTOP;
    if (WIFSTOPPED(status)) ptrace(PTRACE_CONT, stopped, NULL, is_own ? signal : 0);
    do stopped = waitpid(-1, &status, __WALL);
    while (stopped < 0 && errno == EINTR);
    if (stopped < 0) fail("waitpid");
  } while (stopped != process || WIFSTOPPED(status));
  printf("%d %ld %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), own, files);
}

int main(int count, char **words) {
  const char *mode = count > 1 ? words[1] : "";
  memset(line, '.', sizeof line - 1);
  line[sizeof line - 1] = '\n';
  if (count == 2 && strcmp(mode, "start") == 0) return 0;
  if (count == 3 && strcmp(mode, "step") == 0) {
    step(words[2]);
  } else if (count == 4 && strcmp(mode, "append") == 0) {
    append_and_sync(opened(words[2]), atol(words[3]));
  } else if (count == 5 && strcmp(mode, "group") == 0) {
    group(words[2], atol(words[3]), atol(words[4]));
  } else if (count == 3 && strcmp(mode, "loop") == 0) {
    loop(atol(words[2]));
  } else if (count > 2 && strcmp(mode, "spawn") == 0) {
    spawn(words + 2);
  } else if (count > 2 && strcmp(mode, "memory") == 0) {
    memory(words + 2);
  } else {
    fprintf(stderr, "floors: unexpected arguments\n");
    return 2;
  }
  return 0;
}
