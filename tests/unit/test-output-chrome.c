#include "analysis/stays.h"
#include "base/json-read.h"
#include "grid.h"
#include "output/figures.h"
#include "output/output.h"
#include "runtime/runtime.h"
#include "suites.h"
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

/* What Perfetto counts as an error or passes over in silence, checked on every event: process 0
 * and thread 0 are a kernel's idle task, slices of a track nest, times are microseconds with
 * nanoseconds as decimals, a flow begins, steps and ends inside slices, counters go forward. */

typedef struct {
	char ph;
	char name[96];   /* of the event; of metadata what it names */
	char label[128]; /* args.name of metadata */
	gint64 pid, tid, ts, dur, id;
	double value;     /* args.held, bytes or percent of a counter */
	gint64 sustained; /* args.sustained_us, ns; 0: none */
	guint order;      /* in the file */
} Event;

#define ABSENT G_MININT64

static gint64 read_int(PipesimJsonReader *reader)
{
	gsize length;
	const char *raw = pipesim_json_raw(reader, &length);

	ck_assert_uint_le(strspn(raw, "0123456789"), 19);
	ck_assert_msg(
		strspn(raw, "0123456789") == length, "no integer: '%.*s'", (int)length, raw);
	return g_ascii_strtoll(raw, NULL, 10);
}

/* "12.5": digits, and at most three decimals of which the last is no 0. */
static gint64 read_us(PipesimJsonReader *reader)
{
	gsize length, whole, decimals = 0;
	const char *raw = pipesim_json_raw(reader, &length);
	gint64 ns;

	whole = strspn(raw, "0123456789");
	ck_assert_uint_ge(whole, 1);
	ns = g_ascii_strtoll(raw, NULL, 10) * 1000;
	if (whole < length) {
		gint64 unit = 100;

		ck_assert_int_eq(raw[whole], '.');
		decimals = strspn(raw + whole + 1, "0123456789");
		ck_assert_uint_ge(decimals, 1);
		ck_assert_uint_le(decimals, 3);
		ck_assert_int_ne(raw[whole + decimals], '0');
		for (gsize i = 0; i < decimals; i++, unit /= 10)
			ns += (raw[whole + 1 + i] - '0') * unit;
	}
	ck_assert_uint_eq(length, whole + (decimals > 0) + decimals);
	return ns;
}

static PipesimJsonToken next(PipesimJsonReader *reader)
{
	g_autoptr(GError) error = NULL;
	PipesimJsonToken token = pipesim_json_next(reader, &error);

	ck_assert_msg(
		token != PIPESIM_JSON_ERROR, "%s", error != NULL ? error->message : "no error");
	return token;
}

static void read_args(PipesimJsonReader *reader, Event *event)
{
	g_autofree char *key = NULL;

	while (next(reader) == PIPESIM_JSON_KEY) {
		g_free(key);
		key = g_strdup(pipesim_json_text(reader));
		next(reader);
		if (strcmp(key, "name") == 0)
			g_strlcpy(
				event->label, pipesim_json_text(reader), sizeof(event->label));
		if (strcmp(key, "sustained_us") == 0)
			event->sustained = read_us(reader);
		if (strcmp(key, "held") == 0 || strcmp(key, "bytes") == 0 ||
			strcmp(key, "percent") == 0) {
			gsize length;

			event->value = g_ascii_strtod(pipesim_json_raw(reader, &length), NULL);
		}
	}
}

static void read_member(PipesimJsonReader *reader, const char *key, Event *event)
{
	if (strcmp(key, "ph") == 0)
		event->ph = pipesim_json_text(reader)[0];
	else if (strcmp(key, "name") == 0)
		g_strlcpy(event->name, pipesim_json_text(reader), sizeof(event->name));
	else if (strcmp(key, "pid") == 0)
		event->pid = read_int(reader);
	else if (strcmp(key, "tid") == 0)
		event->tid = read_int(reader);
	else if (strcmp(key, "id") == 0)
		event->id = read_int(reader);
	else if (strcmp(key, "ts") == 0)
		event->ts = read_us(reader);
	else if (strcmp(key, "dur") == 0)
		event->dur = read_us(reader);
	else if (strcmp(key, "args") == 0)
		read_args(reader, event);
	else if (strcmp(key, "s") == 0) /* over all tracks of the rank */
		ck_assert_str_eq(pipesim_json_text(reader), "p");
	else
		ck_assert_msg(strcmp(key, "cat") == 0 || strcmp(key, "bp") == 0,
			"unknown member '%s'", key);
}

static void read_event(PipesimJsonReader *reader, GArray *events)
{
	Event event = {.ts = ABSENT, .dur = ABSENT, .id = ABSENT, .order = events->len};

	while (next(reader) == PIPESIM_JSON_KEY) {
		g_autofree char *key = g_strdup(pipesim_json_text(reader));

		next(reader);
		read_member(reader, key, &event);
	}
	ck_assert_int_ge(event.pid, 1);
	ck_assert_int_ge(event.tid, 1);
	ck_assert_msg(strchr("XMCstfbei", event.ph) != NULL, "phase '%c'", event.ph);
	ck_assert((event.ts != ABSENT) == (event.ph != 'M'));
	ck_assert((event.dur != ABSENT) == (event.ph == 'X'));
	ck_assert((event.id != ABSENT) == (strchr("stfbe", event.ph) != NULL));
	g_array_append_val(events, event);
}

static GArray *read_events(const char *text)
{
	GArray *events = g_array_new(FALSE, FALSE, sizeof(Event));
	g_autoptr(PipesimJsonReader) reader =
		pipesim_json_reader_new(pipesim_input_new_memory("trace", text, strlen(text)));

	ck_assert_int_eq(next(reader), PIPESIM_JSON_OPEN_OBJECT);
	while (next(reader) == PIPESIM_JSON_KEY) {
		PipesimJsonToken token;

		if (!pipesim_json_is(reader, "traceEvents")) {
			ck_assert(pipesim_json_skip(reader, next(reader), NULL));
			continue;
		}
		ck_assert_int_eq(next(reader), PIPESIM_JSON_OPEN_ARRAY);
		while ((token = next(reader)) == PIPESIM_JSON_OPEN_OBJECT)
			read_event(reader, events);
		ck_assert_int_eq(token, PIPESIM_JSON_CLOSE_ARRAY);
	}
	ck_assert_int_eq(next(reader), PIPESIM_JSON_END);
	return events;
}

/* By what lies on one track in the order of time; equal times as in the file. */
static int compare_tracks(const void *a, const void *b)
{
	const Event *x = a, *y = b;
	const gint64 differences[] = {x->pid - y->pid, x->tid - y->tid, x->ts - y->ts,
		(gint64)x->order - (gint64)y->order};

	for (gsize i = 0; i < G_N_ELEMENTS(differences); i++)
		if (differences[i] != 0)
			return differences[i] < 0 ? -1 : 1;
	return 0;
}

/* By flow, then by time. */
static int compare_flows(const void *a, const void *b)
{
	const Event *x = a, *y = b;
	const gint64 differences[] = {
		x->id - y->id, x->ts - y->ts, (gint64)x->order - (gint64)y->order};

	for (gsize i = 0; i < G_N_ELEMENTS(differences); i++)
		if (differences[i] != 0)
			return differences[i] < 0 ? -1 : 1;
	return 0;
}

/* Those of the phases @letters, sorted. */
static GArray *select_events(
	const GArray *events, const char *letters, int (*order)(const void *, const void *))
{
	GArray *chosen = g_array_new(FALSE, FALSE, sizeof(Event));

	for (guint i = 0; i < events->len; i++) {
		const Event *event = &g_array_index(events, Event, i);

		if (strchr(letters, event->ph) != NULL)
			g_array_append_vals(chosen, event, 1);
	}
	g_array_sort(chosen, order);
	return chosen;
}

static void check_slices(const GArray *slices)
{
	for (guint i = 1; i < slices->len; i++) {
		const Event *before = &g_array_index(slices, Event, i - 1);
		const Event *event = &g_array_index(slices, Event, i);

		if (before->pid == event->pid && before->tid == event->tid)
			ck_assert_msg(before->ts + before->dur <= event->ts,
				"%s and %s of process %d overlap", before->name, event->name,
				(int)event->pid);
	}
}

/* The last slice of @event's track that begins by its time holds it. */
static gboolean inside_slice(const GArray *slices, const Event *event)
{
	guint low = 0, high = slices->len;

	while (low < high) {
		const guint middle = (low + high) / 2;
		Event at = g_array_index(slices, Event, middle);

		at.order = 0;
		if (compare_tracks(&at,
			    &(Event){.pid = event->pid, .tid = event->tid, .ts = event->ts}) <=
			0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return FALSE;
	const Event *slice = &g_array_index(slices, Event, low - 1);

	return slice->pid == event->pid && slice->tid == event->tid &&
	       (event->ts < slice->ts + slice->dur ||
		       (slice->dur == 0 && event->ts == slice->ts));
}

/* Each id once: one beginning, steps, one end, in the order of time and of the file. */
static guint check_flows(const GArray *flows, const GArray *slices)
{
	guint n = 0;

	for (guint i = 0; i < flows->len; i++) {
		const Event *event = &g_array_index(flows, Event, i);
		const gboolean first = i == 0 || event[-1].id != event->id;
		const gboolean last = i + 1 == flows->len || event[1].id != event->id;

		ck_assert_msg(first == (event->ph == 's') && last == (event->ph == 'f'),
			"flow %d: '%c' out of order", (int)event->id, event->ph);
		ck_assert_msg(inside_slice(slices, event), "flow %d: '%c' in no slice",
			(int)event->id, event->ph);
		n += first;
	}
	return n;
}

static const char *label_of(const GArray *events, const char *name, gint64 pid, gint64 tid)
{
	const char *label = NULL;

	for (guint i = 0; i < events->len; i++) {
		const Event *event = &g_array_index(events, Event, i);

		if (event->ph != 'M' || strcmp(event->name, name) != 0 || event->pid != pid ||
			event->tid != tid)
			continue;
		ck_assert_ptr_null(label);
		label = event->label;
	}
	return label;
}

static void check_names(const GArray *events, const GArray *slices)
{
	for (guint i = 0; i < slices->len; i++) {
		const Event *event = &g_array_index(slices, Event, i);

		if (i > 0 && event[-1].pid == event->pid && event[-1].tid == event->tid)
			continue;
		ck_assert_ptr_nonnull(label_of(events, "process_name", event->pid, 1));
		ck_assert_ptr_nonnull(label_of(events, "thread_name", event->pid, event->tid));
	}
}

/* The largest value of the counter @name of @pid, whose times must not go back; -1: none. */
static double counter_peak(const GArray *events, const char *name, gint64 pid)
{
	gint64 last = 0;
	double peak = -1;

	for (guint i = 0; i < events->len; i++) {
		const Event *event = &g_array_index(events, Event, i);

		if (event->ph != 'C' || event->pid != pid || strcmp(event->name, name) != 0)
			continue;
		ck_assert_int_ge(event->ts, last);
		ck_assert(event->value >= 0);
		last = event->ts;
		peak = MAX(peak, event->value);
	}
	return peak;
}

static GArray *trace_of(const PipesimComparison *comparison)
{
	g_autofree char *path = NULL, *text = NULL;

	g_close(g_file_open_tmp("pipesim-XXXXXX", &path, NULL), NULL);
	ck_assert(pipesim_chrome_trace_write(comparison, path, NULL));
	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	g_unlink(path);
	return read_events(text);
}

static guint count_messages(const PipesimProgram *program)
{
	PipesimMessage messages[2];
	guint n = 0;

	for (guint rank = 0; rank < program->shape.ranks; rank++)
		for (guint32 op = program->rank_begin[rank]; op < program->rank_begin[rank + 1];
			op++)
			n += pipesim_messages(program, rank, op, TRUE, messages);
	return n;
}

/* Strict ----------------------------------------------------------------------------------- */

/* Of the grid every so manieth case: each schedule at several shapes. */
#define STRIDE 11

START_TEST(opens_without_a_warning)
{
	static const PipesimRuntime *const runtimes[] = {&pipesim_runtime_async,
		&pipesim_runtime_pytorch_2_11, &pipesim_runtime_single,
		&pipesim_runtime_deepseek, &pipesim_native_runtime};
	const GridCase *point = &grid_accepted(&(int){0})[_i * STRIDE];
	const PipesimScenario scenario = {
		.ranks = point->ranks,
		.microbatches = point->microbatches,
		.runtime = runtimes[_i % (int)G_N_ELEMENTS(runtimes)],
	};
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, _i % 2);
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&scenario, costs);
	PipesimRun *run = pipesim_run_schedule(point->schedule, &scenario, costs);
	g_autoptr(GArray) events = NULL, slices = NULL, flows = NULL;
	guint ops = 0, stays = 0;

	g_ptr_array_add(comparison->runs, run);
	/* Not every order runs under every way to wait. */
	if (g_error_matches(run->error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK) &&
		scenario.runtime->waits)
		return;
	ck_assert_msg(run->error == NULL, "%s", run->error->message);
	events = trace_of(comparison);
	slices = select_events(events, "X", compare_tracks);
	flows = select_events(events, "stf", compare_flows);
	check_slices(slices);
	check_names(events, slices);
	ck_assert_uint_eq(check_flows(flows, slices), count_messages(run->step->program));
	for (guint i = 0; i < slices->len; i++)
		ops += g_array_index(slices, Event, i).tid == 1;
	ck_assert_uint_eq(ops, run->step->program->n_ops);
	for (guint rank = 0; rank < point->ranks; rank++) {
		g_autoptr(GArray) of_rank = pipesim_message_stays(run->step, rank);

		stays += of_rank->len;
	}
	ck_assert_uint_eq(slices->len - ops - stays,
		run->times->p2p > 0 ? 2 * count_messages(run->step->program) : 0);
	for (guint rank = 0; rank < point->ranks; rank++)
		ck_assert_double_eq(counter_peak(events, "activations", rank + 1),
			pipesim_figure_activations(run->report, run->report->held.peak[rank]));
}
END_TEST

static PipesimComparison *compare_two(const PipesimCosts *costs)
{
	const PipesimScenario scenario = {.ranks = 4, .microbatches = 8};
	PipesimComparison *comparison = pipesim_comparison_new(&scenario, costs);
	const char *const names[] = {"dualpipe", "1f1b"};

	for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
		g_ptr_array_add(comparison->runs,
			pipesim_run_schedule(
				pipesim_schedule_find(names[i], NULL), &scenario, costs));
	return comparison;
}

/* Several runs in one file stay apart, and memory is counted where bytes are known, of stages that
 * are longer too. */
START_TEST(runs_stay_apart)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1500, 1000, 1001, 3000, 7);
	g_autoptr(PipesimComparison) comparison = NULL;
	const PipesimRun *second;
	g_autoptr(GArray) events = NULL, slices = NULL, flows = NULL;

	costs->bytes_until_input = 1000;
	costs->bytes_until_weight = 2000;
	costs->parameter_bytes = 5;
	ck_assert(pipesim_costs_parse_scale(costs, "3=2.5", "scale", 4, NULL));
	comparison = compare_two(costs);
	second = g_ptr_array_index(comparison->runs, 1);
	events = trace_of(comparison);
	slices = select_events(events, "X", compare_tracks);
	flows = select_events(events, "stf", compare_flows);
	check_slices(slices);
	check_flows(flows, slices);
	ck_assert_str_eq(label_of(events, "process_name", 1, 1), "dualpipe, rank 0");
	ck_assert_str_eq(label_of(events, "process_name", 8, 1), "1f1b, rank 3");
	ck_assert_str_eq(label_of(events, "thread_name", 8, 1), "compute");
	ck_assert_str_eq(label_of(events, "thread_name", 8, 2), "send");
	ck_assert_str_eq(label_of(events, "thread_name", 8, 3), "receive");
	for (guint rank = 0; rank < 4; rank++)
		ck_assert_double_eq(counter_peak(events, "memory", 5 + rank),
			(double)second->report->memory.peak[rank]);
	ck_assert_int_eq(second->report->memory.peak[3], 3000 * 5 / 2 + 13);
	ck_assert_double_eq(counter_peak(events, "memory", 9), -1);
}
END_TEST

/* Where a rank first holds more than the limit there is a word, as it begins what does not fit; parameters that alone
 * are too many are too many from 0 on. */
START_TEST(ranks_out_of_memory_are_marked)
{
	const PipesimScenario scenario = {
		.ranks = 4, .microbatches = 8, .memory_limit = _i == 0 ? 2005 : 4};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&scenario, costs);
	PipesimRun *run;
	g_autoptr(GArray) events = NULL, marks = NULL;

	costs->bytes_until_weight = 1000;
	costs->parameter_bytes = 5;
	run = pipesim_run_schedule(pipesim_schedule_find("1f1b", NULL), &scenario, costs);
	g_ptr_array_add(comparison->runs, run);
	events = trace_of(comparison);
	marks = select_events(events, "i", compare_tracks);
	/* Ranks 2 and 3 never hold more than two micro-batches. */
	ck_assert_uint_eq(marks->len, _i == 0 ? 2 : 4);
	for (guint rank = 0; rank < marks->len; rank++) {
		const Event *mark = &g_array_index(marks, Event, rank);

		ck_assert_str_eq(mark->name, "out of memory");
		ck_assert_int_eq(mark->pid, rank + 1);
		/* The third forward is the first that does not fit. */
		ck_assert_int_eq(mark->ts,
			_i == 0 ? run->step->timeline
					  ->start[run->step->program->rank_begin[rank] + 2]
				: 0);
	}
}
END_TEST

/* What ops would take in chips that never idle, where they do not: the first of each rank is faster. */
START_TEST(ops_tell_sustained_times)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1500000, 1000000, 1001000, 3000000, 7);
	g_autoptr(PipesimComparison) comparison = NULL;
	g_autoptr(GArray) events = NULL;
	guint n = 0, faster = 0;

	costs->power = pipesim_power_new();
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		costs->power->full_speed[kind] = 900000;
	comparison = compare_two(costs);
	events = trace_of(comparison);
	for (guint i = 0; i < events->len; i++) {
		const Event *event = &g_array_index(events, Event, i);

		/* Ranks of 1F1B, behind the four of DualPipe. */
		if (event->ph != 'X' || event->pid < 5 || event->tid != 1)
			continue;
		n++;
		ck_assert_int_eq(
			event->sustained, strchr(event->name, 'F') != NULL ? 1500000 : 2001000);
		ck_assert_int_le(event->dur, event->sustained);
		faster += event->dur < event->sustained;
	}
	ck_assert_uint_eq(n, 4 * 2 * 8);
	ck_assert_uint_ge(faster, 4);
	n = 0;
	for (guint i = 0; i < events->len; i++) {
		const Event *event = &g_array_index(events, Event, i);

		if (event->ph != 'C' || strcmp(event->name, "slower than sustained, %") != 0)
			continue;
		ck_assert_double_le(event->value, 0);
		ck_assert_double_ge(event->value, -10);
		n += event->pid >= 5 && event->value < 0;
	}
	ck_assert_uint_eq(n, faster);
}
END_TEST

/* Three messages on their way at once have three tracks. */
START_TEST(messages_at_once)
{
	const PipesimScenario scenario = {.ranks = 2, .microbatches = 8};
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, 3000, 2500);
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&scenario, costs);
	g_autoptr(GArray) events = NULL;

	g_ptr_array_add(comparison->runs,
		pipesim_run_schedule(pipesim_schedule_find("gpipe", NULL), &scenario, costs));
	events = trace_of(comparison);
	ck_assert_str_eq(label_of(events, "thread_name", 1, 2), "send");
	ck_assert_str_eq(label_of(events, "thread_name", 1, 4), "send 2");
	ck_assert_str_eq(label_of(events, "thread_name", 1, 6), "send 3");
	ck_assert_ptr_null(label_of(events, "thread_name", 1, 8));
	ck_assert_str_eq(label_of(events, "thread_name", 2, 7), "receive 3");
}
END_TEST

/* Copies lie on a track for each way, as long as they take; each collective has a beginning and an end on each rank,
 * however many are open. */
START_TEST(copies_and_collectives)
{
	static const char *const names[] = {"po-h", "vocab-2"};
	const PipesimScenario scenario = {.ranks = 4, .microbatches = 8};
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, 2000, 0);
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&scenario, costs);
	g_autoptr(GArray) events = NULL, slices = NULL, spans = NULL;
	guint copies[2] = {0};

	costs->own[PIPESIM_OP_OFFLOAD_START] = costs->own[PIPESIM_OP_RELOAD_START] = 1500;
	costs->own[PIPESIM_OP_OUTPUT] = costs->own[PIPESIM_OP_OUTPUT_WEIGHT] = 200;
	costs->own[PIPESIM_OP_BCAST_H] = 3700;
	for (guint i = 0; i < 2; i++)
		g_ptr_array_add(comparison->runs,
			pipesim_run_schedule(
				pipesim_schedule_find(names[i], NULL), &scenario, costs));
	events = trace_of(comparison);
	slices = select_events(events, "X", compare_tracks);
	check_slices(slices);
	check_names(events, slices);
	for (guint i = 0; i < slices->len; i++) {
		const Event *event = &g_array_index(slices, Event, i);
		const gboolean out = strstr(event->name, "OFFLOAD_START") != NULL;

		if (!out && strstr(event->name, "RELOAD_START") == NULL)
			continue;
		ck_assert_int_eq(event->dur, 750);
		ck_assert_str_eq(label_of(events, "thread_name", event->pid, event->tid),
			out ? "copies out" : "copies in");
		copies[out]++;
	}
	ck_assert(copies[0] == 4 * 8 && copies[1] == 4 * 8);
	spans = select_events(events, "be", compare_flows);
	/* One more carries what the last micro-batch made. */
	ck_assert_uint_eq(spans->len, 2 * 4 * (8 + 1));
	for (guint i = 0; i < spans->len; i += 2) {
		const Event *span = &g_array_index(spans, Event, i);

		ck_assert_str_eq(span->name, "BCAST_H");
		ck_assert(span[0].ph == 'b' && span[1].ph == 'e' && span[0].id == span[1].id);
		ck_assert(span->pid >= 5 && span[1].pid == span->pid);
		ck_assert_int_eq(span[1].ts - span->ts, 3700);
	}
}
END_TEST

Suite *output_chrome_suite(void)
{
	Suite *suite = suite_create("output-chrome");
	TCase *tcase = tcase_create("strict");
	int n;

	grid_accepted(&n);
	tcase_add_loop_test(tcase, opens_without_a_warning, 0, (n + STRIDE - 1) / STRIDE);
	tcase_add_test(tcase, runs_stay_apart);
	tcase_add_test(tcase, ops_tell_sustained_times);
	tcase_add_test(tcase, messages_at_once);
	tcase_add_loop_test(tcase, ranks_out_of_memory_are_marked, 0, 2);
	tcase_add_test(tcase, copies_and_collectives);
	suite_add_tcase(suite, tcase);
	return suite;
}
