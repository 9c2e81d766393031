/* What files of every room use: C's numbers and strings, arrays, errors, exact numbers, the memory of a run. */
#pragma once
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/number.h"
