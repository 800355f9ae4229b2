// libpq, loaded at first use, for talking to PostgreSQL.

#pragma once
#include <postgresql/libpq-fe.h>
// What Swift's view of the C library lacks for waking the thread that waits for answers.
#include <sys/eventfd.h>

#define CPOSTGRES_FUNCTIONS(F) \
  F(clear) \
  F(cmdStatus) \
  F(cmdTuples) \
  F(connectPoll) \
  F(connectStartParams) \
  F(consumeInput) \
  F(enterPipelineMode) \
  F(errorMessage) \
  F(fformat) \
  F(finish) \
  F(flush) \
  F(freemem) \
  F(ftype) \
  F(getResult) \
  F(getisnull) \
  F(getlength) \
  F(getvalue) \
  F(isBusy) \
  F(nfields) \
  F(notifies) \
  F(ntuples) \
  F(pipelineSync) \
  F(resultErrorField) \
  F(resultStatus) \
  F(sendPrepare) \
  F(sendQueryPrepared) \
  F(setErrorVerbosity) \
  F(setNoticeReceiver) \
  F(setnonblocking) \
  F(socket) \
  F(sslInUse) \
  F(status) \
  F(transactionStatus)

/// libpq's functions without their prefix; nothing may be called before `cpostgres_load` has succeeded.
struct CPostgres {
#define F(name) __typeof__(&PQ##name) _Nonnull name;
  CPOSTGRES_FUNCTIONS(F)
#undef F
};
extern struct CPostgres cpostgres __attribute__((swift_attr("nonisolated(unsafe)")));

/// Loads libpq once; NULL if it is there, else a sentence saying what to install.
const char *_Nullable cpostgres_load(void);

/// Loads a library by its name into the table; NULL if it is there, else the sentence.
const char *_Nullable cpostgres_load_from(const char *_Nonnull name);

/// The parts of an error or notice that are read, as libpq numbers them.
enum {
  CPostgresSeverity = PG_DIAG_SEVERITY_NONLOCALIZED,
  CPostgresState = PG_DIAG_SQLSTATE,
  CPostgresMessage = PG_DIAG_MESSAGE_PRIMARY,
  CPostgresDetail = PG_DIAG_MESSAGE_DETAIL,
  CPostgresTable = PG_DIAG_TABLE_NAME,
  CPostgresConstraint = PG_DIAG_CONSTRAINT_NAME,
};
