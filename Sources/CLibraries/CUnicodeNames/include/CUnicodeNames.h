// Half a megabyte of the standard library are the names of Unicode's characters, for which nobody asks here. The shipped
// program is linked with `--wrap`, by which what would look a name up calls this instead, and the tables stay out.
#pragma once
#include <stdint.h>

/// Gives the length of the character's name: none has one.
intptr_t __wrap__swift_stdlib_getScalarName(uint32_t character, uint8_t *name, intptr_t capacity);
