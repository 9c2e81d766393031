/* The door of this room, for files of all others: C's numbers and strings, errors, exact numbers, files, CSV, INI and
 * JSON, the memory of a run, threads. */
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/console.h"
#include "base/csv.h"
#include "base/decimal.h"
#include "base/distance.h"
#include "base/hash.h"
#include "base/ini.h"
#include "base/json-read.h"
#include "base/large.h"
#include "base/member.h"
#include "base/number.h"
#include "base/parallel.h"
#include "base/path.h"
#include "base/sink.h"
