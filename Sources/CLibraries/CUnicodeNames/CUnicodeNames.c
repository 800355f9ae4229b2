#include "CUnicodeNames.h"

intptr_t __wrap__swift_stdlib_getScalarName(uint32_t character, uint8_t *name, intptr_t capacity) { return 0; }
