#ifndef CRE2_H
#define CRE2_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A compiled pattern of RE2: matching takes time linear in the text, whatever the pattern.
typedef struct CRE2Pattern CRE2Pattern;

/// Compiles a pattern of UTF-8. Gives a pattern to be freed, or null with a text in `error` that ends in a zero and is
/// cut to its capacity. `maxMemory` bounds the compiled program and its caches, in bytes.
CRE2Pattern *_Nullable cre2_compile(const char *_Nonnull text, size_t length, int64_t maxMemory,
                                    char *_Nonnull error, size_t errorCapacity);

/// Frees a pattern.
void cre2_free(CRE2Pattern *_Nullable pattern);

/// How many groups the pattern captures.
int cre2_group_count(const CRE2Pattern *_Nonnull pattern);

/// Searches the text from an offset on. Gives whether something matches, and the byte ranges of the whole match and of
/// its groups as pairs in `ranges` (room for `groups` pairs); -1 for a group that took no part.
int cre2_search(const CRE2Pattern *_Nonnull pattern, const char *_Nonnull text, size_t length, size_t start,
                ptrdiff_t *_Nullable ranges, int groups);

#ifdef __cplusplus
}
#endif

#endif
