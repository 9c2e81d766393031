/* One suite a room, and one for what the papers publish. */
#pragma once
#include <check.h>

Suite *base_suite(void);
Suite *reading_suite(void);
Suite *model_suite(void);
Suite *program_suite(void);
Suite *schedule_suite(void);
Suite *search_suite(void);
Suite *engine_suite(void);
Suite *fast_suite(void);
Suite *analysis_suite(void);
Suite *sweep_suite(void);
Suite *difference_suite(void);
Suite *output_suite(void);
Suite *chrome_suite(void);
Suite *files_suite(void);
Suite *published_suite(void);
Suite *random_suite(void);
Suite *trace_suite(void);
Suite *calibrate_suite(void);
Suite *profile_suite(void);
Suite *lower_suite(void);
Suite *comm_suite(void);
Suite *messages_suite(void);
Suite *lanes_suite(void);
Suite *samples_suite(void);
