// What the benchmarks compare with: the least that must be done, in C. Each gives the seconds it took, or a negative
// number if it failed.

#pragma once
#include <stddef.h>

/// Appends a line and syncs it, so many times.
double cbaselines_append_and_sync(const char *_Nonnull path, const void *_Nonnull line, size_t size, int count);

/// Reads the events of a YAML text with libyaml, and does nothing with them.
double cbaselines_yaml_events(const unsigned char *_Nonnull text, size_t size);

/// Fetches a URL with libcurl, one request after another over one connection.
double cbaselines_fetch(const char *_Nonnull url, int count);
