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
static const unsigned char htmx[] = {
#embed "Files/htmx-2.0.10.min.js.gz"
};

const cpageassets_file cpageassets_style = {style, sizeof style};
const cpageassets_file cpageassets_script = {script, sizeof script};
const cpageassets_file cpageassets_icon = {icon, sizeof icon};
const cpageassets_file cpageassets_htmx = {htmx, sizeof htmx};
