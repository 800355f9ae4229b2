// What a crash leaves: a text on standard error, and a mark.
//
//     errand 0.2.0 crashed: signal 4 (SIGILL), build 3f9ac2…
//     llvm-symbolizer --obj=errand.debug 0x5f35b5 0x5f0f6e 0x5f1324 | swift demangle --simplified
//
// The addresses are those of the program file, the innermost first. The first is where the signal struck, the others are
// return addresses: the chain of frame pointers, which Swift keeps, gives them without the tables for unwinding, which the
// program does not have. Where the chain breaks off early, as in libraries that keep no frame pointers, whatever on the
// stack looks like an address of the program's code follows; these may be left over from calls that are done.
//
// Everything here is safe in a signal's handler: no memory is allocated, no lock taken, and what may not be there is read
// by `process_vm_readv`, which fails instead of faulting.
#define _GNU_SOURCE
#include "CCrash.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

enum { most_addresses = 48, few_addresses = 6, scanned_words = 4096 };

static const char *program_name;
static _Atomic(const char *) mark_path;
static uintptr_t bias, text_start, text_end;
static char build[41];

struct text {
  char bytes[2048];
  size_t count;
};

static void add(struct text *text, const char *more) {
  while (*more && text->count < sizeof text->bytes) text->bytes[text->count++] = *more++;
}

static void add_number(struct text *text, uintptr_t number, unsigned base) {
  char digits[24], *end = digits + sizeof digits - 1;
  *end = 0;
  do *--end = "0123456789abcdef"[number % base];
  while (number /= base);
  add(text, end);
}

static int is_code(uintptr_t address) { return address >= text_start && address < text_end; }

static size_t read_words(uintptr_t from, uintptr_t *words, size_t count) {
  struct iovec local = {words, count * sizeof *words}, remote = {(void *)from, count * sizeof *words};
  ssize_t bytes = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  return bytes > 0 ? (size_t)bytes / sizeof *words : 0;
}

static void add_address(struct text *text, uintptr_t address, const char *before) {
  add(text, before);
  add_number(text, address - bias, 16);
}

static void add_stack(struct text *text, ucontext_t *context) {
#if defined(__x86_64__)
  uintptr_t place = context->uc_mcontext.gregs[REG_RIP], frame = context->uc_mcontext.gregs[REG_RBP],
            stack = context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
  uintptr_t place = context->uc_mcontext.pc, frame = context->uc_mcontext.regs[29], stack = context->uc_mcontext.sp;
#else
  uintptr_t place = 0, frame = 0, stack = 0;
#endif
  int count = 0;
  if (is_code(place)) {
    add_address(text, place, " 0x");
    count++;
  }
  // A frame is where the caller's frame pointer lies, and the return address behind it; asynchronous functions of Swift
  // mark theirs with a bit.
  for (uintptr_t below = stack; count < most_addresses && frame >= below && frame % sizeof frame == 0; count++) {
    uintptr_t words[2];
    if (read_words(frame, words, 2) < 2) break;
    if (is_code(words[1])) add_address(text, words[1] - 1, " 0x");
    below = frame + 1;
    frame = words[0] & ~((uintptr_t)1 << 60);
  }
  if (count >= few_addresses) return;
  uintptr_t words[64];
  for (size_t read = 0; read < scanned_words && count < most_addresses; read += 64) {
    size_t there = read_words(stack + read * sizeof *words, words, 64);
    for (size_t index = 0; index < there && count < most_addresses; index++) {
      if (!is_code(words[index])) continue;
      add_address(text, words[index] - 1, " 0x");
      count++;
    }
    if (there < 64) break;
  }
}

static const char *signal_name(int number) {
  switch (number) {
  case SIGILL: return "SIGILL";
  case SIGTRAP: return "SIGTRAP";
  case SIGABRT: return "SIGABRT";
  case SIGBUS: return "SIGBUS";
  case SIGFPE: return "SIGFPE";
  default: return "SIGSEGV";
  }
}

static void crashed(int number, siginfo_t *info, void *context) {
  int error = errno;
  // The kernel's own signals have codes above zero; `abort` sends one to its own process.
  int is_own = info->si_code > 0 || (info->si_code == SI_TKILL && info->si_pid == getpid());
  const char *path = atomic_load(&mark_path);
  if (is_own && path) close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct text text = {.count = 0};
  add(&text, program_name);
  add(&text, " crashed: signal ");
  add_number(&text, (uintptr_t)number, 10);
  add(&text, " (");
  add(&text, signal_name(number));
  add(&text, is_own ? "), build " : ", sent by another process), build ");
  add(&text, build[0] ? build : "unknown");
  add(&text, "\nllvm-symbolizer --obj=errand.debug");
  add_stack(&text, context);
  add(&text, " | swift demangle --simplified\n");
  // Nothing is to be done about what cannot be written.
  if (write(STDERR_FILENO, text.bytes, text.count) < 0) {}
  errno = error;
  // What was sent does not come again by itself, as a fault does.
  if (!is_own) raise(number);
}

static void find_build(const char *note, const char *end) {
  while (note + sizeof(ElfW(Nhdr)) <= end) {
    const ElfW(Nhdr) *head = (const void *)note;
    const char *name = note + sizeof *head, *description = name + ((head->n_namesz + 3) & ~3u);
    if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
      for (size_t index = 0; index < head->n_descsz && 2 * index + 2 < sizeof build; index++) {
        build[2 * index] = "0123456789abcdef"[(unsigned char)description[index] >> 4];
        build[2 * index + 1] = "0123456789abcdef"[description[index] & 15];
      }
      return;
    }
    note = description + ((head->n_descsz + 3) & ~3u);
  }
}

static void find_program(void) {
  const ElfW(Phdr) *heads = (const void *)getauxval(AT_PHDR);
  size_t count = getauxval(AT_PHNUM);
  if (!heads) return;
  for (size_t index = 0; index < count; index++)
    if (heads[index].p_type == PT_PHDR) bias = (uintptr_t)heads - heads[index].p_vaddr;
  for (size_t index = 0; index < count; index++) {
    uintptr_t start = bias + heads[index].p_vaddr;
    if (heads[index].p_type == PT_LOAD && heads[index].p_flags & PF_X) {
      if (!text_end || start < text_start) text_start = start;
      if (start + heads[index].p_memsz > text_end) text_end = start + heads[index].p_memsz;
    } else if (heads[index].p_type == PT_NOTE) {
      find_build((const char *)start, (const char *)start + heads[index].p_memsz);
    }
  }
}

void ccrash_mark(const char *path) { atomic_store(&mark_path, path); }

void ccrash_arm(const char *program) {
  if (program_name) return;
  program_name = program;
  find_program();
  struct sigaction action = {.sa_sigaction = crashed};
  // After the handler the signal strikes as if there were none.
  action.sa_flags = SA_SIGINFO | (int)SA_RESETHAND;
  static const int numbers[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
  for (size_t index = 0; index < sizeof numbers / sizeof *numbers; index++) sigaction(numbers[index], &action, NULL);
}
