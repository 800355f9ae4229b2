// libcurl, loaded at first use: linked the ordinary way it and what it needs cost every start of the program 4 ms.

#pragma once
#include <curl/curl.h>

#define CCURL_FUNCTIONS(F) \
  F(easy_cleanup) \
  F(easy_getinfo) \
  F(easy_init) \
  F(easy_reset) \
  F(easy_setopt) \
  F(global_init) \
  F(multi_add_handle) \
  F(multi_cleanup) \
  F(multi_info_read) \
  F(multi_init) \
  F(multi_perform) \
  F(multi_poll) \
  F(multi_remove_handle) \
  F(multi_setopt) \
  F(multi_wakeup) \
  F(slist_append) \
  F(slist_free_all)

/// libcurl's functions without their prefix; nothing may be called before `ccurl_load` has succeeded.
struct CCurl {
#define F(name) __typeof__(&curl_##name) _Nonnull name;
  CCURL_FUNCTIONS(F)
#undef F
};
extern struct CCurl ccurl __attribute__((swift_attr("nonisolated(unsafe)")));

/// Loads libcurl once; NULL if it is there, else a sentence saying what to install.
const char *_Nullable ccurl_load(void);

// Swift cannot call variadic functions; each of these is one shape of `curl_easy_setopt` and its kin.

static inline CURLcode ccurl_set_long(CURL *_Nonnull easy, CURLoption option, long value) {
  return ccurl.easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_offset(CURL *_Nonnull easy, CURLoption option, curl_off_t value) {
  return ccurl.easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_pointer(CURL *_Nonnull easy, CURLoption option, const void *_Nullable value) {
  return ccurl.easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_text(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value) {
  return ccurl.easy_setopt(easy, option, value);
}
static inline CURLcode ccurl_set_receiver(
    CURL *_Nonnull easy, CURLoption option, curl_write_callback _Nonnull receiver) {
  return ccurl.easy_setopt(easy, option, receiver);
}
static inline CURLcode ccurl_set_before_request(CURL *_Nonnull easy, curl_prereq_callback _Nonnull callback) {
  return ccurl.easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}
static inline CURLcode ccurl_set_progress(CURL *_Nonnull easy, curl_xferinfo_callback _Nonnull callback) {
  ccurl.easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  return ccurl.easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, callback);
}
static inline long ccurl_get_long(CURL *_Nonnull easy, CURLINFO info) {
  long value = 0;
  ccurl.easy_getinfo(easy, info, &value);
  return value;
}
static inline curl_off_t ccurl_get_offset(CURL *_Nonnull easy, CURLINFO info) {
  curl_off_t value = 0;
  ccurl.easy_getinfo(easy, info, &value);
  return value;
}
static inline void *_Nullable ccurl_get_private(CURL *_Nonnull easy) {
  void *value = NULL;
  ccurl.easy_getinfo(easy, CURLINFO_PRIVATE, &value);
  return value;
}
static inline CURLMcode ccurl_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
  return ccurl.multi_setopt(multi, option, value);
}
/// The outcome in a message of kind `CURLMSG_DONE`, which Swift sees as a union.
static inline CURLcode ccurl_result(const CURLMsg *_Nonnull message) { return message->data.result; }
