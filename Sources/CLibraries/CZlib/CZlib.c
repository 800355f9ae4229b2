#include "CZlib.h"
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

struct CZlib czlib;
static const char *fault;

static const char *load(void) {
  void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "libz.so.1 cannot be loaded; install the Debian package zlib1g.";
#define F(name) \
  if (!(czlib.name = (__typeof__(czlib.name))dlsym(library, #name))) \
    return "libz.so.1 lacks " #name "; install the Debian package zlib1g.";
  CZLIB_FUNCTIONS(F)
#undef F
  return NULL;
}

static void loadOnce(void) { fault = load(); }

const char *czlib_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, loadOnce);
  return fault;
}

size_t czlib_pack(const void *input, size_t count, void *output, size_t room, int level) {
  z_stream z = {0};
  if (count > INT_MAX || room > INT_MAX) return 0;
  // 16 more than the size of the window asks for gzip (zlib.h, deflateInit2).
  if (czlib.deflateInit2_(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, czlib.zlibVersion(), (int)sizeof z) != Z_OK)
    return 0;
  z.next_in = (Bytef *)input;
  z.avail_in = (uInt)count;
  z.next_out = output;
  z.avail_out = (uInt)room;
  int code = czlib.deflate(&z, Z_FINISH);
  size_t given = room - z.avail_out;
  czlib.deflateEnd(&z);
  return code == Z_STREAM_END ? given : 0;
}

struct CZlibStream {
  z_stream stream;
  const char *fault;
};

struct CZlibStream *czlib_new(int windowBits) {
  struct CZlibStream *new = calloc(1, sizeof(*new));
  if (!new) return NULL;
  if (czlib.inflateInit2_(&new->stream, windowBits, czlib.zlibVersion(), (int)sizeof(z_stream)) != Z_OK) {
    free(new);
    return NULL;
  }
  return new;
}

void czlib_reset(struct CZlibStream *stream) { czlib.inflateReset(&stream->stream); }

void czlib_free(struct CZlibStream *stream) {
  czlib.inflateEnd(&stream->stream);
  free(stream);
}

static uInt bounded(size_t size) { return size > INT_MAX ? INT_MAX : (uInt)size; }

enum CZlibResult czlib_unpack(
    struct CZlibStream *stream, const void *input, size_t *taken, void *output, size_t *given) {
  z_stream *z = &stream->stream;
  uInt available = bounded(*taken), room = bounded(*given);
  z->next_in = (Bytef *)input;
  z->avail_in = available;
  z->next_out = output;
  z->avail_out = room;
  int code = czlib.inflate(z, Z_NO_FLUSH);
  *taken = available - z->avail_in;
  *given = room - z->avail_out;
  switch (code) {
    case Z_STREAM_END: return CZLIB_END;
    // There was nothing to do.
    case Z_BUF_ERROR:
    case Z_OK: return CZLIB_MORE;
    case Z_NEED_DICT: stream->fault = "it needs a dictionary"; return CZLIB_DAMAGED;
    case Z_MEM_ERROR: stream->fault = "there is no memory to unpack it"; return CZLIB_DAMAGED;
    default: stream->fault = z->msg ? z->msg : "it is no such stream"; return CZLIB_DAMAGED;
  }
}

const char *czlib_fault(struct CZlibStream *stream) { return stream->fault ? stream->fault : ""; }
