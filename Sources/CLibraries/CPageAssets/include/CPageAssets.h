#pragma once

#include <stddef.h>

/// A file that pages need, as it is served.
typedef struct {
  const unsigned char *_Nonnull bytes;
  size_t count;
} cpageassets_file;

extern const cpageassets_file cpageassets_style;
extern const cpageassets_file cpageassets_script;
extern const cpageassets_file cpageassets_icon;
extern const cpageassets_file cpageassets_editor_style;
extern const cpageassets_file cpageassets_editor_script;
/// CodeMirror 5.65 (NOTICE), compressed with gzip.
extern const cpageassets_file cpageassets_component_style;
extern const cpageassets_file cpageassets_component_script;
/// htmx 2.0.10 (NOTICE), compressed with gzip.
extern const cpageassets_file cpageassets_htmx;
