// For dup3.
#define _GNU_SOURCE

#include "CMicroHTTPD.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

struct CMicroHTTPD cmicrohttpd;
static const char *fault;

// Requests that the library can't read never reach the handler: it answers them itself, with a page of HTML, without the
// fields that every answer has, and in some cases with the head twice (0.9.75). It queues these answers through its own
// exported function, which it finds in its table like any other program would. There it finds this one instead, which
// has the server answer, and refuses the library's own answer, so that the library closes the connection. What the server
// itself queues goes to the real function.
static _Atomic(CMicroHTTPDRefusal) refusal;

void cmicrohttpd_setRefusal(CMicroHTTPDRefusal function) { refusal = function; }

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response) {
  (void)response;
  CMicroHTTPDRefusal answer = refusal;
  if (answer) answer(connection, status);
  return MHD_NO;
}

// An address in a loaded library, and whether it is read-only once the library is loaded.
struct Place {
  uintptr_t base, address;
  bool isReadOnly;
};

static int findRelocated(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  struct Place *place = context;
  if (info->dlpi_addr != place->base) return 0;
  for (size_t index = 0; index < info->dlpi_phnum; index += 1) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[index];
    if (part->p_type != PT_GNU_RELRO) continue;
    const uintptr_t start = place->base + part->p_vaddr;
    place->isReadOnly = start <= place->address && place->address < start + part->p_memsz;
  }
  return 1;
}

// Puts a function into the place of another in the table of a loaded library. Where the table has no such entry, the
// library's own answers stay.
static void replace(void *library, const char *name, void *function) {
  struct link_map *map;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map)) return;
  const ElfW(Rela) *entries = NULL;
  const ElfW(Sym) *symbols = NULL;
  const char *names = NULL;
  size_t size = 0;
  bool hasAddends = false;
  for (const ElfW(Dyn) *part = map->l_ld; part->d_tag != DT_NULL; part += 1) {
    if (part->d_tag == DT_JMPREL) entries = (const ElfW(Rela) *)part->d_un.d_ptr;
    if (part->d_tag == DT_PLTRELSZ) size = part->d_un.d_val;
    if (part->d_tag == DT_PLTREL) hasAddends = part->d_un.d_val == DT_RELA;
    if (part->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)part->d_un.d_ptr;
    if (part->d_tag == DT_STRTAB) names = (const char *)part->d_un.d_ptr;
  }
  if (!entries || !symbols || !names || !hasAddends) return;
  for (size_t index = 0; index < size / sizeof *entries; index += 1) {
    if (strcmp(names + symbols[ELF64_R_SYM(entries[index].r_info)].st_name, name)) continue;
    void **slot = (void **)(map->l_addr + entries[index].r_offset);
    struct Place place = {map->l_addr, (uintptr_t)slot, false};
    dl_iterate_phdr(findRelocated, &place);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)slot / page * page);
    if (place.isReadOnly && mprotect(start, page, PROT_READ | PROT_WRITE)) return;
    *slot = function;
    if (place.isReadOnly) mprotect(start, page, PROT_READ);
    return;
  }
}

static const char *load(void) {
  void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "libmicrohttpd.so.12 cannot be loaded; install the Debian package libmicrohttpd12.";
#define F(name) \
  if (!(cmicrohttpd.name = (__typeof__(cmicrohttpd.name))dlsym(library, "MHD_" #name))) \
    return "libmicrohttpd.so.12 lacks MHD_" #name "; install the Debian package libmicrohttpd12.";
  CMICROHTTPD_FUNCTIONS(F)
#undef F
  replace(library, "MHD_queue_response", (void *)refuse);
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

void *cmicrohttpd_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      cmicrohttpd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
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
