#define _GNU_SOURCE
#include "CBaselines.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <yaml.h>

static double now_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double now(void) { return now_of(CLOCK_MONOTONIC); }

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
  double start = now_of(CLOCK_PROCESS_CPUTIME_ID);
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
  double seconds = now_of(CLOCK_PROCESS_CPUTIME_ID) - start;
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

enum { MOST_CONNECTIONS = 256, HEAD = 8 << 10 };

// A connection with the request that it asks.
struct asking {
  int socket;
  struct CBaselinesRequest *request;
  double began;
  char head[HEAD + 1];
  size_t kept, come, whole;
};

static int ask_next(struct asking *asking, struct CBaselinesRequest *request) {
  asking->request = request;
  asking->kept = asking->come = asking->whole = 0;
  asking->began = now();
  const char *bytes = request->bytes;
  for (size_t sent = 0; sent < request->size;) {
    ssize_t count = send(asking->socket, bytes + sent, request->size - sent, MSG_NOSIGNAL);
    if (count <= 0) return -1;
    sent += (size_t)count;
  }
  return 0;
}

// Reads what is there: 1 if the answer is whole, 0 if more has to come, -1 if it never does.
static int hear(struct asking *asking) {
  static char rest[256 << 10];
  int isHead = asking->whole == 0;
  char *to = isHead ? asking->head + asking->kept : rest;
  ssize_t count = recv(asking->socket, to, isHead ? HEAD - asking->kept : sizeof rest, 0);
  if (count <= 0) return -1;
  asking->come += (size_t)count;
  if (isHead) {
    asking->kept += (size_t)count;
    asking->head[asking->kept] = 0;
    char *end = strstr(asking->head, "\r\n\r\n"), *length = strcasestr(asking->head, "\r\nContent-Length: ");
    if (!end) return asking->kept < HEAD ? 0 : -1;
    if (!length || length > end) return -1;
    asking->whole = (size_t)(end + 4 - asking->head) + strtoul(length + 18, NULL, 10);
  }
  return asking->come >= asking->whole;
}

double cbaselines_ask(int port, struct CBaselinesRequest *requests, int count, int connections) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  static struct asking asking[MOST_CONNECTIONS];
  struct pollfd polled[MOST_CONNECTIONS];
  if (connections > MOST_CONNECTIONS) connections = MOST_CONNECTIONS;
  if (connections > count) connections = count;
  int next = 0, done = 0, opened = 0;
  double start = now(), seconds = -1;
  for (; opened < connections; opened++) {
    int one = 1, socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    asking[opened].socket = socket_;
    polled[opened] = (struct pollfd){.fd = socket_, .events = POLLIN};
    if (socket_ < 0 || connect(socket_, (struct sockaddr *)&address, sizeof address)) goto end;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  start = now();
  for (; next < connections; next++)
    if (ask_next(&asking[next], &requests[next])) goto end;
  while (done < count) {
    if (poll(polled, (nfds_t)connections, 30000) <= 0) goto end;
    for (int index = 0; index < connections; index++) {
      if (!polled[index].revents) continue;
      struct asking *one = &asking[index];
      int isWhole = hear(one);
      if (isWhole < 0) goto end;
      if (!isWhole) continue;
      one->request->began = one->began;
      one->request->seconds = now() - one->began;
      one->request->answer = one->come;
      one->request->status = atoi(one->head + 9);
      done++;
      if (next < count && ask_next(one, &requests[next++])) goto end;
    }
  }
  seconds = now() - start;
end:
  while (opened-- > 0) close(asking[opened].socket);
  return seconds;
}

static int ascending(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return (a > b) - (a < b);
}

double cbaselines_slow_sync(const char *path, size_t size, int count) {
  double *times = calloc((size_t)count, sizeof *times), found = -1;
  char *line = calloc(1, size);
  if (times && line) {
    int index = 0, file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    for (; file >= 0 && index < count; index++) {
      double began = now();
      if (write(file, line, size) != (ssize_t)size || fdatasync(file) != 0) break;
      times[index] = now() - began;
    }
    if (file >= 0) close(file);
    if (index == count) {
      qsort(times, (size_t)count, sizeof *times, ascending);
      found = times[count * 99 / 100];
    }
  }
  free(times);
  free(line);
  return found;
}
