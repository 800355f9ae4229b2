#include "CZip.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

struct CZip czip;
static const char *fault;

static const char *load(void) {
  void *library = dlopen("libzip.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) return "libzip.so.4 cannot be loaded; install the Debian package libzip4.";
#define F(name) \
  if (!(czip.name = (__typeof__(czip.name))dlsym(library, "zip_" #name))) \
    return "libzip.so.4 lacks zip_" #name "; install the Debian package libzip4.";
  CZIP_FUNCTIONS(F)
#undef F
  return NULL;
}

static void loadOnce(void) { fault = load(); }

const char *czip_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, loadOnce);
  return fault;
}

#define FAULT(report, ...) snprintf((report)->fault, sizeof((report)->fault), __VA_ARGS__)

// Reads one entry to its end; 0 if something is wrong with it.
static int checkEntry(zip_t *archive, uint64_t index, uint64_t maxUnpackedBytes, struct CZipReport *report) {
  zip_stat_t entry;
  if (czip.stat_index(archive, index, 0, &entry) != 0) {
    FAULT(report, "entry %llu cannot be read: %s", (unsigned long long)index, czip.strerror(archive));
    return 0;
  }
  zip_file_t *file = czip.fopen_index(archive, index, 0);
  if (!file) {
    FAULT(report, "entry '%.100s' cannot be opened: %s", entry.name, czip.strerror(archive));
    return 0;
  }
  char buffer[64 * 1024];
  zip_int64_t count;
  while ((count = czip.fread(file, buffer, sizeof(buffer))) > 0) {
    report->unpackedBytes += (uint64_t)count;
    if (report->unpackedBytes > maxUnpackedBytes) {
      FAULT(report, "it unpacks to more than %llu bytes", (unsigned long long)maxUnpackedBytes);
      break;
    }
  }
  if (count < 0) FAULT(report, "entry '%.100s' is damaged: %s", entry.name, czip.file_strerror(file));
  czip.fclose(file);
  return count == 0;
}

struct CZipReport czip_check(const char *path, uint64_t maxEntries, uint64_t maxUnpackedBytes) {
  struct CZipReport report = {0};
  int code = 0;
  zip_t *archive = czip.open(path, ZIP_RDONLY | ZIP_CHECKCONS, &code);
  if (!archive) {
    zip_error_t error;
    czip.error_init_with_code(&error, code);
    FAULT(&report, "it is no sound zip archive: %s", czip.error_strerror(&error));
    czip.error_fini(&error);
    return report;
  }
  zip_int64_t entries = czip.get_num_entries(archive, 0);
  report.entries = entries < 0 ? 0 : (uint64_t)entries;
  if (report.entries > maxEntries)
    FAULT(&report, "it has more than %llu entries", (unsigned long long)maxEntries);
  else
    for (uint64_t index = 0; index < report.entries; index += 1)
      if (!checkEntry(archive, index, maxUnpackedBytes, &report)) break;
  czip.discard(archive);
  return report;
}
