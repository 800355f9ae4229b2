#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// The words that the program was started with, its own name first, as the C library hands them to it.
///
/// Swift's own list comes from /proc, which a minimal container may lack, or from a place beside the environment, which a
/// preloaded library may have moved.
int cprogram_count(void);
/// The word with that number, from 0.
const char *_Nonnull cprogram_word(int number);

/// The commit that the program was built of, in twelve digits; empty if it wasn't built in a clone. What `make release`
/// builds has a `+` after it if files were changed since.
const char *_Nonnull cprogram_commit(void);

#ifdef __cplusplus
}
#endif
