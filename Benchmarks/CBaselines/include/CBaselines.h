// What the benchmarks compare with: the least that must be done, in C. Each gives the seconds it took, or a negative
// number if it failed.

#pragma once
#include <stddef.h>

/// Appends a line and syncs it, so many times.
double cbaselines_append_and_sync(const char *_Nonnull path, const void *_Nonnull line, size_t size, int count);

/// Reads the events of a YAML text with libyaml, and does nothing with them. The seconds are processor time.
double cbaselines_yaml_events(const unsigned char *_Nonnull text, size_t size);

/// Fetches a URL with libcurl, one request after another over one connection.
double cbaselines_fetch(const char *_Nonnull url, int count);

/// A request that a server is asked, and what came of it.
struct CBaselinesRequest {
  const void *_Nonnull bytes;
  size_t size;
  /// When it was asked, in seconds of the monotonic clock.
  double began;
  /// The seconds until the answer was there, and its status and size with its head.
  double seconds;
  int status;
  size_t answer;
};

/// Asks a server of this machine over so many connections that stay, each of which sends its next request once it has
/// the answer to the one before. The answers have to say their length.
double cbaselines_ask(int port, struct CBaselinesRequest *_Nonnull requests, int count, int connections);

/// The seconds of the slowest in a hundred of so many appends that are synced.
double cbaselines_slow_sync(const char *_Nonnull path, size_t size, int count);
