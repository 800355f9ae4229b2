#include <stddef.h>
#include <stdint.h>

// The entrance of libFuzzer for programs that bring a main function; compiler-rt ships no header for it.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*target)(const uint8_t *data, size_t size));
