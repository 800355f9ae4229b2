#include "CPageAssets.h"

// Files that are edited as what they are. Clang takes `#embed` in every C since version 19.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char style[] = {
#embed "Files/errand.css"
};
static const unsigned char script[] = {
#embed "Files/errand.js"
};
static const unsigned char icon[] = {
#embed "Files/errand.svg"
};
static const unsigned char editor_style[] = {
#embed "Files/edit.css"
};
static const unsigned char editor_script[] = {
#embed "Files/edit.js"
};
static const unsigned char component_style[] = {
#embed "Files/codemirror-5.65.0.css.gz"
};
static const unsigned char component_script[] = {
#embed "Files/codemirror-5.65.0.min.js.gz"
};
static const unsigned char htmx[] = {
#embed "Files/htmx-2.0.10.min.js.gz"
};

const cpageassets_file cpageassets_style = {style, sizeof style};
const cpageassets_file cpageassets_script = {script, sizeof script};
const cpageassets_file cpageassets_icon = {icon, sizeof icon};
const cpageassets_file cpageassets_editor_style = {editor_style, sizeof editor_style};
const cpageassets_file cpageassets_editor_script = {editor_script, sizeof editor_script};
const cpageassets_file cpageassets_component_style = {component_style, sizeof component_style};
const cpageassets_file cpageassets_component_script = {component_script, sizeof component_script};
const cpageassets_file cpageassets_htmx = {htmx, sizeof htmx};
