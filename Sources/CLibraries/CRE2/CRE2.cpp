#include "CRE2.h"

#include <re2/re2.h>

#include <cstring>
#include <new>
#include <string>
#include <vector>

// No exception may leave a function that Swift calls; RE2 throws none, so only allocation is guarded.

struct CRE2Pattern {
  RE2 regex;
  CRE2Pattern(re2::StringPiece text, const RE2::Options &options) : regex(text, options) {}
};

extern "C" CRE2Pattern *cre2_compile(const char *text, size_t length, int64_t maxMemory, char *error,
                                     size_t errorCapacity) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(maxMemory);
  auto *pattern = new (std::nothrow) CRE2Pattern(re2::StringPiece(text, length), options);
  if (pattern && pattern->regex.ok()) return pattern;
  if (errorCapacity > 0) {
    const std::string message = pattern ? pattern->regex.error() : "out of memory";
    const size_t count = message.size() < errorCapacity ? message.size() : errorCapacity - 1;
    memcpy(error, message.data(), count);
    error[count] = 0;
  }
  delete pattern;
  return nullptr;
}

extern "C" void cre2_free(CRE2Pattern *pattern) { delete pattern; }

extern "C" int cre2_group_count(const CRE2Pattern *pattern) { return pattern->regex.NumberOfCapturingGroups(); }

extern "C" int cre2_search(const CRE2Pattern *pattern, const char *text, size_t length, size_t start,
                           ptrdiff_t *ranges, int groups) {
  const re2::StringPiece subject(text, length);
  std::vector<re2::StringPiece> found(ranges ? groups : 0);
  if (!pattern->regex.Match(subject, start, length, RE2::UNANCHORED, found.data(), static_cast<int>(found.size())))
    return 0;
  for (size_t i = 0; i < found.size(); i++) {
    const char *begin = found[i].data();
    ranges[2 * i] = begin ? begin - text : -1;
    ranges[2 * i + 1] = begin ? begin - text + static_cast<ptrdiff_t>(found[i].size()) : -1;
  }
  return 1;
}
