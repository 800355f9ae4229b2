#define _GNU_SOURCE
#include "CProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

int cprocess_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno; }

int cprocess_spawn(
    pid_t *pid, const char *path, char *const *words, char *const *environment, const char *folder, int input,
    int output, int errors) {
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_t actions;
  sigset_t none, all;
  int code = posix_spawnattr_init(&attributes);
  if (code != 0) return code;
  code = posix_spawn_file_actions_init(&actions);
  if (code != 0) {
    posix_spawnattr_destroy(&attributes);
    return code;
  }
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  code = posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  if (code == 0) code = posix_spawn_file_actions_addchdir_np(&actions, folder);
  if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, input, 0);
  if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, output, 1);
  if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, errors, 2);
  if (code == 0) code = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  if (code == 0) code = posix_spawn(pid, path, &actions, &attributes, words, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return code;
}
