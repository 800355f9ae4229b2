#include "CPostgres.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

struct CPostgres cpostgres;
static const char *fault;

const char *cpostgres_load_from(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return "libpq.so.5 can't be loaded; install the Debian package libpq5.";
#define F(name) \
  if (!(cpostgres.name = (__typeof__(cpostgres.name))dlsym(library, "PQ" #name))) \
    return "libpq.so.5 lacks PQ" #name "; install the Debian package libpq5, version 14 or later.";
  CPOSTGRES_FUNCTIONS(F)
#undef F
  return NULL;
}

static void loadOnce(void) { fault = cpostgres_load_from("libpq.so.5"); }

const char *cpostgres_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, loadOnce);
  return fault;
}
