// libzip, loaded at first use, for checking archives.

#pragma once
#include <stdint.h>
#include <zip.h>

#define CZIP_FUNCTIONS(F) \
  F(discard) \
  F(error_fini) \
  F(error_init_with_code) \
  F(error_strerror) \
  F(fclose) \
  F(file_strerror) \
  F(fopen_index) \
  F(fread) \
  F(get_num_entries) \
  F(open) \
  F(stat_index) \
  F(strerror)

/// libzip's functions without their prefix; nothing may be called before `czip_load` has succeeded.
struct CZip {
#define F(name) __typeof__(&zip_##name) _Nonnull name;
  CZIP_FUNCTIONS(F)
#undef F
};
extern struct CZip czip __attribute__((swift_attr("nonisolated(unsafe)")));

/// Loads libzip once; NULL if it is there, else a sentence saying what to install.
const char *_Nullable czip_load(void);

/// What a check found.
struct CZipReport {
  /// How many entries the archive has.
  uint64_t entries;
  /// How many bytes they hold, unpacked.
  uint64_t unpackedBytes;
  /// What is wrong, as the second half of a sentence about the archive; empty if nothing is.
  char fault[256];
};

/// Opens an archive with libzip's consistency check and reads every entry to its end, which verifies its CRC.
///
/// Stops at the first fault, and past the limits, which hold for what is really unpacked and not only for what the
/// archive says of itself. Encrypted entries are a fault: nothing can be said about them.
struct CZipReport czip_check(const char *_Nonnull path, uint64_t maxEntries, uint64_t maxUnpackedBytes);
