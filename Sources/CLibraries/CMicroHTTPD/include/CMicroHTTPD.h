// libmicrohttpd, loaded at first use: linked the ordinary way it brings GnuTLS into every start of the program.

#pragma once
#include <microhttpd.h>
#include <stdarg.h>

#define CMICROHTTPD_FUNCTIONS(F) \
  F(add_response_header) \
  F(create_response_from_buffer) \
  F(create_response_from_callback) \
  F(destroy_response) \
  F(get_connection_info) \
  F(get_connection_values_n) \
  F(get_daemon_info) \
  F(get_reason_phrase_for) \
  F(queue_response) \
  F(resume_connection) \
  F(start_daemon) \
  F(stop_daemon) \
  F(suspend_connection)

/// libmicrohttpd's functions without their prefix; nothing may be called before `cmicrohttpd_load` has succeeded.
struct CMicroHTTPD {
#define F(name) __typeof__(&MHD_##name) _Nonnull name;
  CMICROHTTPD_FUNCTIONS(F)
#undef F
};
extern struct CMicroHTTPD cmicrohttpd __attribute__((swift_attr("nonisolated(unsafe)")));

/// What answers in the place of the library's own refusals: gives a connection that it refuses, with the status.
typedef void (*CMicroHTTPDRefusal)(struct MHD_Connection *_Nonnull connection, unsigned status);

/// Sets what answers what the library refuses by itself, before it is loaded.
void cmicrohttpd_setRefusal(CMicroHTTPDRefusal _Nonnull refusal);

/// Loads libmicrohttpd once; NULL if it is there, else a sentence saying what to install.
const char *_Nullable cmicrohttpd_load(void);

/// What a daemon is started with; Swift cannot call the variadic function.
struct CMicroHTTPDOptions {
  int listeningSocket;
  unsigned connectionLimit;
  unsigned idleSeconds;
  size_t memoryPerConnection;
  void *_Nonnull context;
  /// Called with the target of each request; what it gives is the request's context in the other two.
  void *_Nullable (*_Nonnull began)(void *_Nullable, const char *_Nonnull, struct MHD_Connection *_Nonnull);
  MHD_AccessHandlerCallback _Nonnull handler;
  MHD_RequestCompletedCallback _Nonnull completed;
  /// Called when a connection has begun, and before its socket is closed.
  MHD_NotifyConnectionCallback _Nonnull connected;
};

/// The socket of a connection, or -1; Swift cannot call the variadic function.
int cmicrohttpd_socket(struct MHD_Connection *_Nonnull connection);

/// What `connected` has put into the third argument for a connection; NULL if nothing.
void *_Nullable cmicrohttpd_context(struct MHD_Connection *_Nonnull connection);

/// Starts a daemon with one thread on epoll, or gives NULL.
struct MHD_Daemon *_Nullable cmicrohttpd_start(const struct CMicroHTTPDOptions *_Nonnull options);

/// Takes no more connections from a daemon's listening socket; `MHD_stop_daemon` closes what is left of it.
void cmicrohttpd_stop_listening(struct MHD_Daemon *_Nonnull daemon, int socket);
