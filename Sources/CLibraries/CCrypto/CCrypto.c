#include "CCrypto.h"
#include <dlfcn.h>
#include <pthread.h>

struct CCrypto ccrypto;
static const char *fault;

static const char *load(void) {
  void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "libcrypto.so.3 cannot be loaded; install the Debian package libssl3.";
#define F(name) \
  if (!(ccrypto.name = (__typeof__(ccrypto.name))dlsym(library, #name))) \
    return "libcrypto.so.3 lacks " #name "; install the Debian package libssl3.";
  CCRYPTO_FUNCTIONS(F)
#undef F
  return NULL;
}

static void loadOnce(void) { fault = load(); }

const char *ccrypto_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, loadOnce);
  return fault;
}
