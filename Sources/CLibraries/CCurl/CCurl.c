#include "CCurl.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

struct CCurl ccurl;
static const char *fault;

static const char *load(void) {
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "libcurl.so.4 cannot be loaded; install the Debian package libcurl4.";
#define F(name) \
  if (!(ccurl.name = (__typeof__(ccurl.name))dlsym(library, "curl_" #name))) \
    return "libcurl.so.4 lacks curl_" #name "; install the Debian package libcurl4 in version 7.88 or later.";
  CCURL_FUNCTIONS(F)
#undef F
  // OpenSSL would free itself at exit while a transfer may still run on its thread.
  int (*initialiseOpenSSL)(uint64_t, const void *) =
      (int (*)(uint64_t, const void *))dlsym(library, "OPENSSL_init_crypto");
  const uint64_t withoutCleanupAtExit = 0x00080000;
  if (initialiseOpenSSL) initialiseOpenSSL(withoutCleanupAtExit, NULL);
  if (ccurl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return "libcurl cannot be initialised.";
  return NULL;
}

static void loadOnce(void) { fault = load(); }

const char *ccurl_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, loadOnce);
  return fault;
}
