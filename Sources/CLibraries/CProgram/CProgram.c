#include "CProgram.h"

static int count;
static char **words;

// glibc calls constructors with the arguments of `main`.
__attribute__((constructor)) static void keep(int argc, char **argv) {
  count = argc;
  words = argv;
}

int cprogram_count(void) { return count; }

const char *cprogram_word(int number) { return number >= 0 && number < count ? words[number] : ""; }
