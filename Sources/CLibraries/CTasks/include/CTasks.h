#pragma once

/// Has each job that Swift's concurrency would run on its own threads handed to a function instead, which has to run it
/// sooner or later by `ctasks_run`. To be called before the first task is made.
///
/// The runtime library of Swift has a variable for that, `swift_task_enqueueGlobal_hook` (`ConcurrencyHooks.def`).
void ctasks_take_over(void (*_Nonnull enqueue)(void *_Nonnull job));

/// Runs a job that was handed over, on the thread that calls it.
void ctasks_run(void *_Nonnull job);
