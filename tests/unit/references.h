/* Op orders of other implementations: tests/references, whose README.md says what made each. */
#pragma once
#include <glib.h>

/**
 * references_find: the files whose names begin with one of @prefixes, a list that NULL ends, by name. They
 * are unpacked from tests/references; those of $PIPESIM_SHARED/orders come beside them, and instead of
 * those of the same name.
 *
 * Returns: (transfer full): paths; none where there is nothing to unpack.
 */
GPtrArray *references_find(const char *const *prefixes);

/** references_clear: takes away what was unpacked. */
void references_clear(void);
