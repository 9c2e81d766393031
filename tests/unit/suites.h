#pragma once
#include <check.h>

#define SUITE(name) Suite *name##_suite(void);
#include "list.h"
#undef SUITE
