#include "CTasks.h"

#include <stddef.h>

// As the runtime library of Swift 6 declares them, with its calling convention.
#define SWIFT __attribute__((swiftcall))
typedef SWIFT void (*Original)(void *job);
extern SWIFT void (*swift_task_enqueueGlobal_hook)(void *job, Original original);
extern SWIFT void swift_job_run(void *job, void *executor, void *implementation);

static void (*taker)(void *job);

static SWIFT void enqueue(void *job, Original original) {
  (void)original;
  taker(job);
}

void ctasks_take_over(void (*enqueueJob)(void *job)) {
  taker = enqueueJob;
  swift_task_enqueueGlobal_hook = enqueue;
}

// On no particular executor.
void ctasks_run(void *job) { swift_job_run(job, NULL, NULL); }
