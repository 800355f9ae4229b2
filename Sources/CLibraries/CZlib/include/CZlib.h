// zlib, loaded at first use, for compressed answers, of servers and of errand.

#pragma once
#include <stddef.h>
#include <zlib.h>

#define CZLIB_FUNCTIONS(F) \
  F(deflate) \
  F(deflateEnd) \
  F(deflateInit2_) \
  F(inflate) \
  F(inflateEnd) \
  F(inflateInit2_) \
  F(inflateReset) \
  F(zlibVersion)

/// zlib's functions; nothing may be called before `czlib_load` has succeeded.
struct CZlib {
#define F(name) __typeof__(&name) _Nonnull name;
  CZLIB_FUNCTIONS(F)
#undef F
};
extern struct CZlib czlib __attribute__((swift_attr("nonisolated(unsafe)")));

/// Loads zlib once; NULL if it is there, else a sentence saying what to install.
const char *_Nullable czlib_load(void);

/// What unpacking a piece came to.
enum CZlibResult { CZLIB_MORE, CZLIB_END, CZLIB_DAMAGED };

/// Packs all of it as gzip; gives how long it is, or 0 if there isn't room, or no memory.
size_t czlib_pack(const void *_Nonnull input, size_t count, void *_Nonnull output, size_t room, int level);

/// One stream that is unpacked.
struct CZlibStream;

/// Begins a stream of the form that zlib's `windowBits` says; NULL if there is no memory.
struct CZlibStream *_Nullable czlib_new(int windowBits);
/// Begins anew with the same form.
void czlib_reset(struct CZlibStream *_Nonnull stream);
void czlib_free(struct CZlibStream *_Nonnull stream);

/// Unpacks as much as fits.
///
/// `taken` and `given` say how much there is, and are set to how much was taken and given.
enum CZlibResult czlib_unpack(
    struct CZlibStream *_Nonnull stream, const void *_Nullable input, size_t *_Nonnull taken, void *_Nonnull output,
    size_t *_Nonnull given);
/// What is wrong with a stream that is damaged.
const char *_Nonnull czlib_fault(struct CZlibStream *_Nonnull stream);
