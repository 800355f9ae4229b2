// For dup3.
#define _GNU_SOURCE

#include "CMicroHTTPD.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct CMicroHTTPD cmicrohttpd;
static const char *fault;

static const char *load(void) {
  void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "libmicrohttpd.so.12 cannot be loaded; install the Debian package libmicrohttpd12.";
#define F(name) \
  if (!(cmicrohttpd.name = (__typeof__(cmicrohttpd.name))dlsym(library, "MHD_" #name))) \
    return "libmicrohttpd.so.12 lacks MHD_" #name "; install the Debian package libmicrohttpd12.";
  CMICROHTTPD_FUNCTIONS(F)
#undef F
  return NULL;
}

static void loadOnce(void) { fault = load(); }

const char *cmicrohttpd_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, loadOnce);
  return fault;
}

// What the library would print of bad requests is no news: they get an answer.
static void logNothing(void *context, const char *format, va_list arguments) {
  (void)context;
  (void)format;
  (void)arguments;
}

// Targets are decoded by the one who reads them: the library would decode `%2F` into a separator.
static size_t unescapeNothing(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  size_t length = 0;
  while (text[length]) length += 1;
  return length;
}

int cmicrohttpd_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = cmicrohttpd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

struct MHD_Daemon *cmicrohttpd_start(const struct CMicroHTTPDOptions *options) {
  const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  // The daemon's thread inherits the mask: signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct MHD_Daemon *daemon = cmicrohttpd.start_daemon(
      flags, 0, NULL, NULL, options->handler, options->context,
      MHD_OPTION_EXTERNAL_LOGGER, logNothing, NULL,
      MHD_OPTION_LISTEN_SOCKET, options->listeningSocket,
      MHD_OPTION_CONNECTION_LIMIT, options->connectionLimit,
      MHD_OPTION_CONNECTION_TIMEOUT, options->idleSeconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->memoryPerConnection,
      MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_UNESCAPE_CALLBACK, unescapeNothing, NULL,
      MHD_OPTION_URI_LOG_CALLBACK, options->began, options->context,
      MHD_OPTION_NOTIFY_COMPLETED, options->completed, options->context,
      MHD_OPTION_NOTIFY_CONNECTION, options->connected, options->context,
      MHD_OPTION_END);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return daemon;
}

// `MHD_quiesce_daemon` isn't used: it takes the socket out of the epoll set, and so does the daemon's thread if it wakes
// meanwhile, which then ends the program ("Failed to remove listen FD from epoll set", libmicrohttpd 0.9.75). Here the
// library isn't told: its socket becomes one that nobody can connect to.
void cmicrohttpd_stop_listening(struct MHD_Daemon *daemon, int socket) {
  const union MHD_DaemonInfo *info = cmicrohttpd.get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  // Others may have the socket too, as systemd has; then closing it wouldn't take it out.
  if (info) epoll_ctl(info->epoll_fd, EPOLL_CTL_DEL, socket, NULL);
  int silent = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (silent < 0) return;
  dup3(silent, socket, O_CLOEXEC);
  close(silent);
}
