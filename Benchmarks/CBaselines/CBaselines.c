#include "CBaselines.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include <yaml.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double cbaselines_append_and_sync(const char *path, const void *line, size_t size, int count) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  if (file < 0) return -1;
  double start = now();
  for (int index = 0; index < count; index++) {
    if (write(file, line, size) != (ssize_t)size || fdatasync(file) != 0) {
      close(file);
      return -1;
    }
  }
  double seconds = now() - start;
  close(file);
  return seconds;
}

double cbaselines_yaml_events(const unsigned char *text, size_t size) {
  yaml_parser_t parser;
  if (!yaml_parser_initialize(&parser)) return -1;
  yaml_parser_set_input_string(&parser, text, size);
  double start = now();
  int isLast = 0;
  while (!isLast) {
    yaml_event_t event;
    if (!yaml_parser_parse(&parser, &event)) {
      yaml_parser_delete(&parser);
      return -1;
    }
    isLast = event.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
  }
  double seconds = now() - start;
  yaml_parser_delete(&parser);
  return seconds;
}

static size_t discard(char *bytes, size_t size, size_t count, void *context) {
  (void)bytes;
  (void)context;
  return size * count;
}

double cbaselines_fetch(const char *url, int count) {
  CURL *easy = curl_easy_init();
  if (easy == NULL) return -1;
  curl_easy_setopt(easy, CURLOPT_URL, url);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
  double start = now();
  for (int index = 0; index < count; index++) {
    if (curl_easy_perform(easy) != CURLE_OK) {
      curl_easy_cleanup(easy);
      return -1;
    }
  }
  double seconds = now() - start;
  curl_easy_cleanup(easy);
  return seconds;
}
