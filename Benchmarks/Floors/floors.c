// What the machine itself takes, as whole processes: the floors that `errand` is measured beside, and the spawner that
// measures both.
//
//   floors start                     does nothing
//   floors step DIR                  makes a folder and a file in it, and appends and syncs a line four times
//   floors append FILE COUNT         appends and syncs a line, COUNT times
//   floors group FILE THREADS COUNT  the same from each thread into one file, with one sync for all that wait
//   floors spawn COMMAND…            runs the command without its output, and prints its exit code, its seconds, its
//                                    seconds of processor time, its peak of memory in kilobytes, and its page faults
//
// Lines are 400 bytes, as in a journal. The spawner is a process of its own because a child's peak of memory begins
// with that of the process that started it, and this one is small.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
  } else if (count > 2 && strcmp(mode, "spawn") == 0) {
    spawn(words + 2);
  } else {
    fprintf(stderr, "floors: unexpected arguments\n");
    return 2;
  }
  return 0;
}
