#include "CProgram.h"

// A build says of which commit it is without being told: the clone's log of where HEAD was ends with a line of two
// hashes, from and to. The compiler reads the file and names it among its sources, so that this is compiled again after
// each commit, and nothing else is. C can't keep a part of what is embedded, C++ can.

namespace {

constexpr int shownDigits = 12;
constexpr int hashDigits = 40;

struct Commit {
  char text[shownDigits + 1];
};

}  // namespace

#ifdef ERRAND_COMMIT
static const char commit[] = ERRAND_COMMIT;
const char *cprogram_commit(void) { return commit; }
#elif __has_embed("../../../.git/logs/HEAD")
namespace {

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc23-extensions"
constexpr unsigned char headLog[] = {
#embed "../../../.git/logs/HEAD" if_empty(0)
};
#pragma clang diagnostic pop

constexpr int size = sizeof headLog;

consteval Commit lastCommit() {
  int line = size - 1;
  while (line > 0 && headLog[line - 1] != '\n') line--;
  Commit commit = {};
  const int to = line + hashDigits + 1;
  for (int digit = 0; digit < shownDigits && to + digit < size; digit++) commit.text[digit] = headLog[to + digit];
  return commit;
}

constinit const Commit commit = lastCommit();

}  // namespace

const char *cprogram_commit(void) { return commit.text; }
#else
const char *cprogram_commit(void) { return ""; }
#endif
