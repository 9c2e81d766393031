/* Where the time of a recorded step went: steps that are made up, with what is to be found in them. */
#include "base/kind.h"
#include "diagnose-case.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/measured.h"
#include "diagnosis/what-if.h"
#include "effects/effects.h"
#include "measure/beside.h"
#include "measure/calibrate.h"
#include "measure/reader.h"
#include "output/output.h"
#include "trace-text.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* Events of a profiler's file, and where the next ones stand. */
typedef struct {
	GString *text;
	guint correlation;
	gint64 host; /* us */
} Events;

static void append_kernel(
	Events *events, const char *name, guint stream, gint64 start, gint64 ns)
{
	events->correlation++;
	g_string_append_printf(events->text,
		"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"tid\":1,"
		"\"ts\":%" G_GINT64_FORMAT ",\"dur\":1,\"args\":{\"correlation\":%u}},\n"
		"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"tid\":%u,\"ts\":%.3f,"
		"\"dur\":%.3f,\"args\":{\"stream\":%u,\"correlation\":%u}},\n",
		events->host, events->correlation, name, stream, (double)start / 1e3,
		(double)ns / 1e3, stream, events->correlation);
	events->host += 2;
}

static void append_range(Events *events, const char *name, gint64 from)
{
	g_string_append_printf(events->text,
		"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"%s\",\"tid\":1,"
		"\"ts\":%" G_GINT64_FORMAT ",\"dur\":%" G_GINT64_FORMAT "},\n",
		name, from, events->host - from);
	events->host += 2;
}

/* A profile of @rank: each op is kernels of a millisecond, more where its stage holds more, longer
 * where the rank is slow. */
static char *make_profile(const Made *made, guint rank)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_new(10 * MS, 8 * MS, 8 * MS, -1, 0, NULL);
	const PipesimScenario scenario = {.ranks = made->ranks,
		.microbatches = made->microbatches,
		.keep = PIPESIM_KEEP_OPS};

	costs->power = made->power != NULL ? pipesim_power_copy(made->power) : NULL;
	PipesimRun *run = pipesim_run_schedule(
		pipesim_schedule_find(made->schedule, NULL), &scenario, costs);
	const PipesimProgram *program = run->step->whole;
	g_autofree gint64 *took = g_new0(gint64, program->n_ops);
	g_autoptr(PipesimTimeline) timeline = NULL;
	PipesimTimes times = *run->times;
	Events events = {g_string_new("{\"distributedInfo\":{\"rank\":"), 0, 10};

	for (guint of = 0; of < made->ranks; of++)
		for (guint32 i = program->rank_begin[of]; i < program->rank_begin[of + 1];
			i++) {
			took[i] =
				pipesim_op_duration(program, run->times, of, &program->ops[i]);
			if ((gint)pipesim_op_stage(program, of, &program->ops[i]) ==
				made->long_stage)
				took[i] *= 2;
			if ((gint)of == made->slow)
				took[i] += took[i] * made->percent / 100;
			if (i == made->op)
				took[i] += made->late_host + made->late_message;
		}
	times.drawn = took;
	timeline = pipesim_step_again(run->step, &times, 0, NULL);
	g_string_append_printf(events.text,
		"%u,\"world_size\":%u},\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA "
		"H200\"}],\"baseTimeNanoseconds\":1790857026000000000,"
		"\"traceEvents\":[\n",
		rank, made->ranks);
	/* Messages are seen: what is waited for without one is not for them. */
	append_kernel(&events, "ncclDevKernel_SendRecv", 19,
		timeline->start[program->rank_begin[rank]], 1000);
	for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
		const gint64 late = i == made->op ? made->late_host + made->late_message : 0;
		const gint64 each =
			MS + ((gint)rank == made->slow ? MS * made->percent / 100 : 0);
		const gint64 start = timeline->start[i] + late, from = events.host;
		g_autoptr(GString) name = g_string_new("PP:");

		if (i == made->op && made->late_message > 0) {
			append_kernel(&events, "ncclDevKernel_SendRecv", 19,
				start - made->late_message, made->late_message);
			append_range(&events, "PP:1RECV_F4", from);
		}
		const gint64 begin = events.host;
		/* At another clock kernels are as many, but longer or shorter. */
		const gint64 length = timeline->end[i] - start;
		const gint64 n = made->power == NULL ? 0 : took[i] / MS;
		for (gint64 at = start; at < timeline->end[i] && n == 0; at += each)
			append_kernel(&events, "gemm", 7, at, MIN(each, timeline->end[i] - at));
		for (gint64 k = 0; k < n; k++)
			append_kernel(&events, "gemm", 7, start + length * k / n,
				length * (k + 1) / n - length * k / n);
		pipesim_op_print(program, rank, &program->ops[i], name);
		append_range(&events, name->str, begin);
	}
	if (made->optimizer > 0)
		append_kernel(&events, "adamw", 7, timeline->makespan, made->optimizer);
	g_string_append(events.text, "{\"ph\":\"M\",\"name\":\"x\"}]}");
	pipesim_run_free(run);
	return g_string_free(events.text, FALSE);
}

static const struct {
	PipesimCauseKind cause;
	gint rank;
	Made made;
} profiled[] = {
	{PIPESIM_CAUSE_SLOW_RANK, 1, {.slow = 1, .percent = 20, .long_stage = -1}},
	{PIPESIM_CAUSE_IMBALANCE, 1, {.slow = -1, .long_stage = 1}},
	{PIPESIM_CAUSE_HOST, 0, {.slow = -1, .long_stage = -1, .op = 15, .late_host = 7 * MS}},
	{PIPESIM_CAUSE_MESSAGES, 1,
		{.slow = -1, .long_stage = -1, .op = 16 + 8, .late_message = 7 * MS}},
	{PIPESIM_CAUSE_OUTSIDE, -1, {.slow = -1, .long_stage = -1, .optimizer = 9 * MS}},
};

START_TEST(a_clean_step_is_its_schedule)
{
	g_auto(Case) one = {0};

	make_case(&one, &plain);
	ck_assert(one.found->nearest.exact);
	ck_assert_str_eq(one.found->nearest.run->name, "1f1b");
	ck_assert_int_eq(one.found->measured, (8 + 3) * 26 * MS);
	ck_assert_int_eq(one.found->simulated, one.found->measured);
	ck_assert_int_eq(one.found->work, 8 * 26 * MS);
	ck_assert_int_eq(cause_of(&one, PIPESIM_CAUSE_SCHEDULE), 3 * 26 * MS);
	for (guint kind = PIPESIM_CAUSE_IMBALANCE; kind < PIPESIM_N_CAUSES; kind++) {
		ck_assert_int_eq(cause_of(&one, kind), 0);
		ck_assert_int_eq(one.found->cause[kind].rank, -1);
	}
	ck_assert_uint_eq(one.found->n_losses, 0);
}
END_TEST

/* Op 15 of rank 0 is the backward that ends the step, op 52 a forward in the steady phase of the last
 * rank: nothing hides what is added to them. */
static const struct {
	PipesimCauseKind cause;
	gint rank;
	gint64 ns;
	Made made;
} injected[] = {
	{PIPESIM_CAUSE_OPS, 0, 30 * MS, {.longer = 30 * MS, .op = 15}},
	{PIPESIM_CAUSE_HOST, 0, 30 * MS, {.late_host = 30 * MS, .op = 15, .messages = TRUE}},
	{PIPESIM_CAUSE_MESSAGES, 3, 25 * MS,
		{.late_message = 25 * MS, .op = 16 * 3 + 4, .messages = TRUE}},
	/* Without messages in the trace a wait at one is for it. */
	{PIPESIM_CAUSE_MESSAGES, 3, 25 * MS, {.late_message = 25 * MS, .op = 16 * 3 + 4}},
	{PIPESIM_CAUSE_OUTSIDE, -1, 40 * MS, {.optimizer = 40 * MS}},
	/* All that is added to (8 + 3) * 26 ms. */
	{PIPESIM_CAUSE_SLOW_RANK, 2, 0, {.slow = 2, .percent = 20, .replicas = 5}},
	/* Of two the faster one is usual. */
	{PIPESIM_CAUSE_SLOW_RANK, 2, 0, {.slow = 2, .percent = 50, .replicas = 2}},
	{PIPESIM_CAUSE_SLOW_RANK, 1, 0, {.slow = 1, .percent = 10, .replicas = 2}},
};

START_TEST(what_was_injected_is_found)
{
	g_auto(Case) one = {0};
	const PipesimCause *cause;
	Made made = injected[_i].made;

	made.schedule = plain.schedule;
	made.ranks = plain.ranks;
	made.microbatches = plain.microbatches;
	made.replicas = MAX(made.replicas, 1u);
	made.steps = made.op > 0 ? 3 : 1;
	made.slow = made.percent > 0 ? made.slow : -1;
	made.long_stage = -1;
	if (made.op == 0)
		made.op = PIPESIM_NO_OP;
	g_autofree char *text = make_text(&made);
	one.trace = trace_of(text);
	/* The step with the injection, not one of median length. */
	const PipesimCalibrateOptions none = {0};
	PipesimPatient patient = {.step = 0};
	one.record = pipesim_record_new(&one.trace, 1, NULL);
	one.calibration = pipesim_calibrate(&one.trace, 1, &none, NULL);
	ck_assert_ptr_nonnull(one.record);
	ck_assert_ptr_nonnull(one.calibration);
	patient.record = one.record;
	patient.costs = one.calibration->costs;
	one.found = pipesim_diagnose(&patient, NULL);
	ck_assert_ptr_nonnull(one.found);
	check_sums(one.found);
	cause = &one.found->cause[injected[_i].cause];
	ck_assert_int_eq(cause->ns, one.found->measured - 11 * 26 * MS);
	if (injected[_i].ns > 0)
		ck_assert_int_eq(cause->ns, injected[_i].ns);
	ck_assert_int_eq(cause->rank, injected[_i].rank);
	ck_assert_int_eq(cause->without, one.found->measured - cause->ns);
	for (guint kind = PIPESIM_CAUSE_IMBALANCE; kind < PIPESIM_N_CAUSES; kind++)
		if (kind != injected[_i].cause)
			ck_assert_int_eq(cause_of(&one, kind), 0);
	if (made.op == PIPESIM_NO_OP)
		return;
	ck_assert_uint_eq(one.found->n_losses, 1);
	ck_assert_uint_eq(one.found->loss[0].op, made.op);
	ck_assert_int_eq(one.found->loss[0].cause, injected[_i].cause);
	ck_assert_int_eq(one.found->loss[0].step, injected[_i].ns);
}
END_TEST

/* Their means are the usual length, and more than that. */
static const guint lengths[][8] = {
	{100, 50, 200, 100, 150, 100, 75, 25}, {40, 40, 40, 40, 40, 200, 200, 200}};

START_TEST(unequal_microbatches_are_told)
{
	g_auto(Case) one = {0};
	Made made = plain;
	const PipesimCause *cause;

	made.lengths = lengths[_i];
	make_case(&one, &made);
	check_sums(one.found);
	ck_assert_uint_eq(one.found->n_lengths, 8);
	for (guint m = 0; m < 8; m++)
		ck_assert_int_eq(one.found->length[m], PIPESIM_PPM / 100 * lengths[_i][m]);
	/* Micro-batches of the average length take what those of one length take. */
	cause = &one.found->cause[PIPESIM_CAUSE_LENGTHS];
	ck_assert_int_eq(cause->ns, one.found->measured - 11 * 26 * MS);
	ck_assert_int_eq(cause->without, 11 * 26 * MS);
	for (guint kind = PIPESIM_CAUSE_IMBALANCE; kind < PIPESIM_N_CAUSES; kind++)
		if (kind != PIPESIM_CAUSE_LENGTHS)
			ck_assert_int_eq(cause_of(&one, kind), 0);
	/* And they stay in other schedules. */
	ck_assert_int_eq(one.found->now.makespan, one.found->measured);
}
END_TEST

/* What other schedules take with a rank of a replica that is slow, and without it. */
START_TEST(a_slow_replica_stays_in_schedules)
{
	g_auto(Case) one = {0}, clean = {0};
	Made made = plain;

	make_case(&clean, &made);
	made.slow = 2;
	made.percent = 50;
	made.replicas = 2;
	make_case(&one, &made);
	ck_assert_int_eq(one.found->now.makespan, one.found->measured);
	pipesim_each (const PipesimOther, other, one.found->others)
		pipesim_each (const PipesimOther, without, clean.found->others)
			if (g_str_equal(other->run->name, without->run->name))
				ck_assert_int_eq(other->fixed, without->fixed);
}
END_TEST

START_TEST(lost_time_stands_on_the_timeline)
{
	g_auto(Case) one = {0};
	g_autoptr(PipesimComparison) comparison = NULL;
	g_autofree char *path = NULL, *text = NULL;
	Made made = plain;
	const PipesimRun *run;
	gint64 sum = 0, host = 0;

	made.op = 15;
	made.late_host = 30 * MS;
	made.messages = TRUE;
	make_case(&one, &made);
	comparison = pipesim_measured_comparison(one.found, NULL);
	ck_assert_ptr_nonnull(comparison);
	run = g_ptr_array_index(comparison->runs, 0);
	ck_assert_int_eq(run->report->makespan, one.found->pipeline_ns);
	for (guint i = 0; i < run->lost->len; i++) {
		const PipesimLost *lost = &g_array_index(run->lost, PipesimLost, i);

		sum += lost->rank == 0 ? lost->end - lost->start : 0;
		if (!g_str_equal(lost->cause, "host"))
			continue;
		host++;
		ck_assert_uint_eq(lost->rank, 0);
		ck_assert_int_eq(lost->end, one.found->measured_start[15]);
		ck_assert_int_eq(lost->end - lost->start, 30 * MS);
	}
	ck_assert_int_eq(host, 1);
	ck_assert_int_eq(sum, run->report->bubble.idle[0]);
	/* The same in a trace for browsers. */
	g_close(g_file_open_tmp("pipesim-XXXXXX", &path, NULL), NULL);
	ck_assert(pipesim_chrome_trace_write(comparison, path, NULL));
	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	ck_assert_ptr_nonnull(strstr(text, "\"name\": \"host\""));
	ck_assert_ptr_nonnull(strstr(text, "\"cat\": \"lost\""));
	g_unlink(path);
}
END_TEST

START_TEST(long_stages_are_imbalance)
{
	g_auto(Case) one = {0};
	Made made = plain;
	const PipesimOther *best;

	made.long_stage = 3;
	make_case(&one, &made);
	/* At equal stages each takes a quarter more: 11 * 26 * 5/4. With one twice as long the
	 * steady phase is its, and the three others pass once each way. */
	ck_assert_int_eq(one.found->measured, (8 * 52 + 3 * 26) * MS);
	ck_assert_int_eq(cause_of(&one, PIPESIM_CAUSE_IMBALANCE),
		(8 * 52 + 3 * 26) * MS - 11 * 26 * 5 * MS / 4);
	ck_assert_int_eq(one.found->cause[PIPESIM_CAUSE_IMBALANCE].rank, 3);
	ck_assert_int_eq(
		one.found->cause[PIPESIM_CAUSE_IMBALANCE].without, 11 * 26 * 5 * MS / 4);
	/* No other schedule is thought to take what none can: less than the longest rank works. */
	best = &g_array_index(one.found->others, PipesimOther, 0);
	ck_assert_int_ge(best->makespan, 8 * 52 * MS / 2);
	ck_assert_int_eq(best->fixed, best->makespan);
	ck_assert_int_eq(one.found->executed->report->makespan, one.found->measured);
}
END_TEST

/* A slow rank has half of the model in every schedule, and is as slow there; a host is late there, too. */
static void check_others(
	const PipesimDiagnosis *found, PipesimCauseKind cause, const Made *made)
{
	const gint64 work = 8 * 26 * MS;
	const gint64 least = cause == PIPESIM_CAUSE_SLOW_RANK
				     ? work + work * made->percent / 100
				     : work + made->late_host;
	gboolean gained = FALSE;

	pipesim_each (const PipesimOther, other, found->others) {
		ck_assert(other->makespan < 0 || other->makespan >= least);
		gained |= other->fixed >= work && other->fixed < least;
	}
	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++)
		ck_assert_int_eq(found->stays[kind],
			kind == cause && (kind == PIPESIM_CAUSE_SLOW_RANK ||
						 kind == PIPESIM_CAUSE_HOST));
	if (found->stays[cause]) {
		ck_assert(gained);
		ck_assert_int_ge(found->now.makespan, least);
	}
}

START_TEST(profiles_tell_what_was_injected)
{
	g_auto(Case) one = {0};
	Made made = profiled[_i].made;
	PipesimTrace *traces[2] = {NULL};
	const gint64 clean = (8 + 1) * 26 * MS;

	made.schedule = "1f1b";
	made.ranks = 2;
	made.microbatches = 8;
	if (made.op == 0)
		made.op = PIPESIM_NO_OP;
	for (guint rank = 0; rank < 2; rank++) {
		g_autofree char *text = make_profile(&made, rank);

		traces[rank] = trace_of(text);
	}
	ck_assert(diagnose(&one, traces, 2, NULL));
	ck_assert(one.found->tells_ranks);
	check_sums(one.found);
	for (guint kind = PIPESIM_CAUSE_SLOW_RANK; kind < PIPESIM_N_CAUSES; kind++)
		if (kind != profiled[_i].cause)
			ck_assert_int_eq(cause_of(&one, kind), 0);
	ck_assert_int_eq(one.found->cause[profiled[_i].cause].rank, profiled[_i].rank);
	/* Equal stages would take their mean, which is longer than the shorter one. */
	if (profiled[_i].cause == PIPESIM_CAUSE_IMBALANCE)
		ck_assert_int_eq(cause_of(&one, PIPESIM_CAUSE_IMBALANCE),
			one.found->measured - clean * 3 / 2);
	else
		ck_assert_int_eq(
			cause_of(&one, profiled[_i].cause), one.found->measured - clean);
	check_others(one.found, profiled[_i].cause, &made);
	pipesim_trace_free(traces[0]);
	pipesim_trace_free(traces[1]);
}
END_TEST

START_TEST(clocks_are_set_by_messages)
{
	g_auto(Case) one = {0};
	Made made = plain;

	made.skew = 5000 * MS;
	make_case(&one, &made);
	ck_assert(trace_has_notice(one.record->notices, "the clock of rank 3 is set"));
	/* Half of the room that messages leave: nothing waits longer than a forward. */
	ck_assert_int_le(ABS(one.found->measured - 11 * 26 * MS), 26 * MS);
}
END_TEST

#define OPS "step,stage,op,microbatch,start_us,dur_us\n"
/* The last rank sends to the first: what suits neighbours must suit these too. */
START_TEST(all_clocks_may_be_off)
{
	static const gint64 skews[] = {4000 * MS, 9000 * MS, 1000 * MS, 13000 * MS};
	static const char *const names[] = {"interleaved-1f1b", "looped-bfs", "zb-v", "hanayo"};
	g_auto(Case) clean = {0}, one = {0};
	Made made = plain;

	made.schedule = names[_i];
	make_case(&clean, &made);
	made.skews = skews;
	make_case(&one, &made);
	/* Nothing arrives before it was sent: measured ops need no delay. */
	for (guint32 i = 0; i < one.found->program->n_ops; i++)
		ck_assert_int_le(one.found->pipeline->start + one.found->measured_start[i] -
					 one.found->pipeline->ops[i].start,
			100000);
	ck_assert_int_le(ABS(one.found->measured - clean.found->measured), 60 * MS);
}
END_TEST

/* A clock that goes otherwise than the others is set anew in each step. */
START_TEST(clocks_may_drift)
{
	g_auto(Case) one = {0};
	Made made = plain;

	made.steps = 4;
	made.skew = 5000 * MS;
	made.drift = 300 * MS;
	make_case(&one, &made);
	ck_assert(trace_has_notice(one.record->notices,
		"the clocks of ranks are set in 4 of 4 steps, by what they send each other; "
		"they may be off by"));
	ck_assert_uint_eq(one.record->steps->len, 4);
	for (guint step = 0; step < 4; step++)
		ck_assert_int_le(ABS(one.found->step_measured[step] - 11 * 26 * MS), 26 * MS);
}
END_TEST

#define PAIRS "step,stage,op,microbatch,start_us,dur_us,b_stage,b_microbatch\n"
#define ONE   OPS "0,0,F,0,0,1\n0,1,F,0,2,1\n0,1,B,0,4,1\n"

static const struct {
	const char *text, *message;
} refused[] = {
	{"step,rank,stage,op,microbatch,start_us,dur_us\n0,0,0,F,0,0,1\n0,0,0,B,0,4,1\n0,1,2,F,"
	 "0,2,1\n"
	 "0,1,2,B,0,3,1\n0,0,3,F,0,5,1\n0,0,3,B,0,6,1\n",
		"no op of stage 1: the trace of rank"},
	{ONE, "no whole step: step 0 lacks B of stage 0, micro-batch 0"},
	{ONE "0,0,F,1,9,1\n1,0,F,0,20,1\n1,0,B,0,24,1\n1,1,F,1,20,1\n1,1,B,1,24,1\n",
		"no whole step: step 0 lacks"},
	{ONE "0,0,B,0,6,1\n0,0,F,0,8,1\n", "appears twice in step 0"},
	{OPS "0,0,F,0,0,9\n0,0,B,0,2,3\n",
		"starts 0.007 ms before F of stage 0, micro-batch 0"},
	{OPS "0,0,F,0,0,1000\n0,1,F,0,5,1000\n0,1,B,0,1005,1000\n0,0,B,0,1001,1000\n",
		"x.csv: ranks 0 and 1: of what both send each other something would arrive"},
	{OPS "0,0,B,0,0,1\n0,0,F,0,2,1\n", "x.csv:2:1: the order recorded in step 0 cannot "
					   "have run: 0B0 comes before 0F0"},
	{PAIRS "0,0,F,0,0,1,,\n0,1,F,0,1,1,,\n0,1,B,0,2,1,,\n0,0,FB,1,3,2,0,0\n0,1,F,1,5,1,,\n"
	       "0,1,B,1,6,1,,\n",
		"no whole step: step 0 lacks B of stage 0, micro-batch 1"},
	{PAIRS "0,0,F,0,0,1,,\n0,1,F,0,1,1,,\n0,1,B,0,2,1,,\n0,0,FB,1,3,2,0,0\n0,0,B,0,5,1,,\n",
		"B of stage 0, micro-batch 0, appears twice in step 0"},
	{TRACE_TOP "run_id,rep,component,phase,layer,stage,microbatch,dur_ns\n"
		   "r,0,chunk,F,all,0,0,5\nr,0,chunk,B,all,0,0,5\n",
		"x.csv: ops have no start"},
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,F,compute,own,sustained,100,ok\n",
		"no ops of micro-batches in these traces"},
};

START_TEST(what_cannot_be_diagnosed_is_refused)
{
	g_auto(Case) one = {.trace = trace_of(refused[_i].text)};
	g_autoptr(GError) error = NULL;

	ck_assert(!diagnose(&one, &one.trace, 1, &error));
	ck_assert_msg(
		strstr(error->message, refused[_i].message) != NULL, "%s", error->message);
}
END_TEST

START_TEST(cut_steps_are_left_out)
{
	g_auto(Case) one = {0};
	Made made = plain;
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;

	made.steps = 2;
	text = make_text(&made);
	*(strrchr(text, '\n')) = '\0';
	*(strrchr(text, '\n') + 1) = '\0';
	one.trace = trace_of(text);
	ck_assert_msg(diagnose(&one, &one.trace, 1, &error), "%s",
		error != NULL ? error->message : "");
	ck_assert_uint_eq(one.record->steps->len, 1);
	ck_assert(trace_has_notice(one.record->notices,
		"1 step left out, which is cut: step 1 lacks B of stage 3"));
}
END_TEST

/* Other people's runs: each step, simulated with its own times of ops and one time a message. */
static const struct {
	const char *file;
	double mean;   /* of the size of the error, at most */
	gint64 median; /* of the measured steps, us */
} foreign[] = {
	{"bytedance-st-ops.csv.gz", 0.01, 2213000},
	{"bytedance-se-ops.csv.gz", 0.01, 9049600},
	{"primus-pp8.csv.gz", 0.02, 3245000},
};

START_TEST(runs_of_others_are_replayed)
{
	g_autofree char *path = shared_file(foreign[_i].file);
	g_auto(Case) one = {.runtime = &pipesim_native_runtime};
	g_autoptr(GError) error = NULL;
	double sum = 0;
	guint n;

	if (path == NULL)
		return;
	one.trace = pipesim_trace_read(pipesim_input_open(path, NULL), NULL, NULL);
	ck_assert_ptr_nonnull(one.trace);
	ck_assert_msg(diagnose(&one, &one.trace, 1, &error), "%s",
		error != NULL ? error->message : "");
	check_sums(one.found);
	ck_assert(one.found->nearest.exact);
	ck_assert_str_eq(one.found->nearest.run->name, "1f1b");
	ck_assert_ptr_eq(one.found->rules, &pipesim_runtime_megatron);
	n = one.record->steps->len;
	for (guint i = 0; i < n; i++) {
		const gint64 off = one.found->step_simulated[i] - one.found->step_measured[i];

		sum += (double)ABS(off) / (double)one.found->step_measured[i];
	}
	ck_assert_double_lt(sum / n, foreign[_i].mean);
	ck_assert_int_le(ABS(one.found->measured / 1000 - foreign[_i].median), 1000);
	ck_assert_int_lt(
		ABS(one.found->simulated - one.found->measured), one.found->measured / 100);
}
END_TEST

/* The number behind @key in the file @name of the reference files; NAN where it is not here. */
static double published(const char *name, const char *key)
{
	g_autofree char *path = shared_file(name);
	g_autofree char *text = NULL, *quoted = g_strdup_printf("\"%s\":", key);
	const char *at;

	if (path == NULL)
		return NAN;
	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	at = strstr(text, quoted);
	ck_assert_msg(at != NULL, "%s lacks %s", path, key);
	return g_ascii_strtod(at + strlen(quoted), NULL);
}

static double kind_of(const PipesimWhatIf *what_if, const char *name)
{
	for (guint i = 0; i < what_if->kinds->len; i++) {
		const PipesimWhatIfKind *kind =
			&g_array_index(what_if->kinds, PipesimWhatIfKind, i);

		if (g_str_equal(kind->name, name))
			return kind->slowdown;
	}
	ck_abort_msg("no %s", name);
}

static const char *const jobs[] = {"st", "se"};
static const char *const kinds[] = {"forward-compute", "backward-compute",
	"embedding-grads-all-reduce", "grads-reduce-scatter", "optimizer-clip-main-grad",
	"optimizer", "params-all-gather", "layernorm-grads-all-reduce", "gc", "forward-pp-comm",
	"backward-pp-comm"};

/* StragglerAnalysis' own results, of its own data. Their means are sums in float32: in another order they would be up to
 * 0.9 us of a step away, which M_W of the first job, 10 ms to 329 ms, feels most. */
START_TEST(published_what_if_is_reproduced)
{
	g_autofree char *ops = g_strdup_printf("bytedance-%s-ops.csv.gz", jobs[_i]);
	g_autofree char *result = g_strdup_printf("bytedance-%s-result.json", jobs[_i]);
	g_autofree char *ms = g_strdup_printf("bytedance-%s-ms.json", jobs[_i]);
	g_autofree char *mw = g_strdup_printf("bytedance-%s-mw.json", jobs[_i]);
	g_autofree char *path = shared_file(ops);
	g_autoptr(PipesimTrace) trace = NULL;
	g_autoptr(PipesimRecord) record = NULL;
	g_autoptr(PipesimWhatIf) what_if = NULL;

	if (path == NULL)
		return;
	trace = pipesim_trace_read(pipesim_input_open(path, NULL), NULL, NULL);
	record = pipesim_record_new(&trace, 1, NULL);
	ck_assert_ptr_nonnull(record);
	what_if = pipesim_what_if(record, NULL);
	ck_assert_ptr_nonnull(what_if);
	ck_assert_double_eq_tol(
		what_if->slowdown, published(result, "blocking_slowdown"), 1e-6);
	ck_assert_double_eq_tol(what_if->launch, published(result, "launch_slowdown"), 1e-6);
	ck_assert_double_eq_tol(what_if->last_stage, published(ms, "Ms"), 1e-6);
	ck_assert_double_eq_tol(
		what_if->worst_ranks, published(mw, "Mw"), _i == 0 ? 1.2e-6 : 1e-6);
	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
		ck_assert_double_eq_tol(
			kind_of(what_if, kinds[i]), published(result, kinds[i]), 1e-6);
}
END_TEST

/* Of ST by stage and replica, and which ranks are the worst of both jobs. */
START_TEST(what_if_names_stages_and_ranks)
{
	static const double stages[] = {0.9980450635, 0.9830562531, 0.9824931310, 1.2322559543};
	g_autofree char *path = shared_file("bytedance-st-ops.csv.gz");
	g_autoptr(PipesimTrace) trace = NULL;
	g_autoptr(PipesimRecord) record = NULL;
	g_autoptr(PipesimWhatIf) what_if = NULL;

	if (path == NULL)
		return;
	trace = pipesim_trace_read(pipesim_input_open(path, NULL), NULL, NULL);
	record = pipesim_record_new(&trace, 1, NULL);
	what_if = pipesim_what_if(record, NULL);
	ck_assert_ptr_nonnull(what_if);
	for (guint i = 0; i < 4; i++)
		ck_assert_double_eq_tol(what_if->stage[i], stages[i], 1e-6);
	ck_assert_double_eq_tol(what_if->replica[0], 1.1730828198, 1e-6);
	ck_assert_double_eq_tol(what_if->replica[1], 1.1778704237, 1e-6);
	ck_assert_double_eq_tol(what_if->rank[1 * 4 + 3], 1.1778704237, 1e-6);
	ck_assert_uint_eq(what_if->worst->len, 1);
	ck_assert_uint_eq(g_array_index(what_if->worst, guint32, 0), 1 * 4 + 3);
}
END_TEST

START_TEST(what_if_needs_messages)
{
	g_auto(Case) one = {0};
	g_autoptr(GError) error = NULL;

	make_case(&one, &plain);
	ck_assert_ptr_null(pipesim_what_if(one.record, &error));
	ck_assert_str_eq(error->message, "what-if: the traces show no sends and receives");
}
END_TEST

static void append_named(Events *events, guint microbatch, char kind, gint64 start, gint64 ns)
{
	g_autofree char *name = g_strdup_printf("PP:0%c%u", kind, microbatch);
	const gint64 from = events->host;

	append_kernel(events, "gemm", 7, start, ns);
	append_range(events, name, from);
}

/* Forwards take 10 ms, and half as long again while a receive waits; backwards 20 ms, with none beside them. */
START_TEST(profiles_tell_what_receives_cost)
{
	static const double beside[] = {0, 1, 0, 0.5, 1, 0};
	g_autoptr(GString) text = g_string_new("{\"traceEvents\":[\n");
	Events events = {text, 0, 1};
	g_autoptr(PipesimTrace) trace = NULL;
	g_autoptr(PipesimRecord) record = NULL;
	g_autoptr(PipesimCalibration) calibration = NULL;
	g_autoptr(PipesimEffects) effects = NULL;
	const PipesimCalibrateOptions none = {0};
	gint64 at = MS;
	PipesimBeside found;

	for (guint m = 0; m < G_N_ELEMENTS(beside); m++) {
		const gint64 took = llround((1 + 0.5 * beside[m]) * 10 * MS);

		append_named(&events, m, 'F', at, took);
		if (beside[m] > 0)
			append_kernel(&events, "ncclDevKernel_SendRecv", 9, at,
				llround((double)took * beside[m]));
		at += 20 * MS;
		append_named(&events, m, 'B', at, 20 * MS);
		at += 25 * MS;
	}
	g_string_append(text, "{}]}");
	trace = trace_of(text->str);
	ck_assert(pipesim_beside_measure(&trace, 1, &found));
	ck_assert_int_le(ABS(found.ratio[PIPESIM_F] - 1500000), 2);
	ck_assert_uint_eq(found.n[PIPESIM_F], 6);
	/* What nothing tells is as the others. */
	ck_assert_uint_eq(found.n[PIPESIM_B], 0);
	ck_assert_int_eq(found.ratio[PIPESIM_B], found.ratio[PIPESIM_F]);
	ck_assert_int_le(ABS(found.alone[PIPESIM_F] - 10 * MS), 100);
	record = pipesim_record_new(&trace, 1, NULL);
	ck_assert_int_le(
		ABS(pipesim_record_pipeline(record, 0, 0)->ops[2].beside - 5 * MS), 100);
	calibration = pipesim_calibrate(&trace, 1, &none, NULL);
	effects = pipesim_effects_calibrate(&trace, 1, calibration, 0, NULL);
	ck_assert_ptr_nonnull(calibration->costs->contention);
	ck_assert_int_eq(
		calibration->costs->contention->slowdown[PIPESIM_F], found.ratio[PIPESIM_F]);
	ck_assert_int_le(ABS(calibration->costs->time[PIPESIM_F] - 10 * MS), 100);
	ck_assert(trace_has_notice(calibration->notices, "what a receive costs beside B"));
}
END_TEST

/* Steps of the chip that is named in profiles, as docs/diagnose.md has it. */
START_TEST(chips_at_their_limit_are_told)
{
	g_auto(Case) one = {0};
	g_autoptr(PipesimPower) power = pipesim_power_new();
	g_autoptr(PipesimCosts) costs = pipesim_costs_new(10 * MS, 8 * MS, 8 * MS, -1, 0, NULL);
	const PipesimScenario scenario = {.ranks = 2, .microbatches = 8};
	const Made made = {.schedule = "gpipe",
		.ranks = 2,
		.microbatches = 8,
		.slow = -1,
		.long_stage = -1,
		.op = PIPESIM_NO_OP,
		.power = power};
	PipesimTrace *traces[2];
	guint checked = 0;

	power->time_constant[0] = 38705000;
	power->threshold = 755742;
	memcpy(power->full_speed, (gint64[]){881582, 874365, 905246, 884368, 883085},
		sizeof power->full_speed);
	memcpy(power->load, (gint64[]){942860, 1024194, 1024194, 1024194, 999904},
		sizeof power->load);
	costs->power = pipesim_power_copy(power);
	for (guint rank = 0; rank < 2; rank++) {
		g_autofree char *text = make_profile(&made, rank);

		traces[rank] = trace_of(text);
	}
	ck_assert(diagnose(&one, traces, 2, NULL));
	ck_assert_int_gt(one.record->swing, 20000);
	ck_assert_str_eq(one.found->governor, "NVIDIA H200");
	/* Each schedule of whole backwards takes what it takes at the clocks of its own. */
	pipesim_each (const PipesimOther, other, one.found->others) {
		if (strcmp(other->run->name, "1f1b") != 0 &&
			strcmp(other->run->name, "interleaved-1f1b") != 0)
			continue;
		PipesimRun *run = pipesim_run_schedule(other->run->schedule, &scenario, costs);
		const double off =
			fabs((double)other->makespan / (double)run->report->makespan - 1);

		ck_assert_double_lt(off, 0.003);
		checked++;
		pipesim_run_free(run);
	}
	ck_assert_uint_eq(checked, 2);
	pipesim_trace_free(traces[0]);
	pipesim_trace_free(traces[1]);
}
END_TEST

Suite *diagnosis_causes_suite(void)
{
	Suite *suite = suite_create("diagnosis-causes");
	TCase *causes = tcase_create("causes");
	TCase *record = tcase_create("record");
	TCase *what_if = tcase_create("what-if");

	tcase_add_test(causes, a_clean_step_is_its_schedule);
	tcase_add_loop_test(causes, what_was_injected_is_found, 0, G_N_ELEMENTS(injected));
	tcase_add_loop_test(causes, unequal_microbatches_are_told, 0, G_N_ELEMENTS(lengths));
	tcase_add_test(causes, a_slow_replica_stays_in_schedules);
	tcase_add_test(causes, lost_time_stands_on_the_timeline);
	tcase_add_test(causes, long_stages_are_imbalance);
	tcase_add_loop_test(causes, profiles_tell_what_was_injected, 0, G_N_ELEMENTS(profiled));
	tcase_add_test(causes, profiles_tell_what_receives_cost);
	tcase_add_test(causes, chips_at_their_limit_are_told);
	tcase_add_test(record, clocks_are_set_by_messages);
	tcase_add_test(record, clocks_may_drift);
	tcase_add_loop_test(record, all_clocks_may_be_off, 0, 4);
	tcase_add_loop_test(
		record, what_cannot_be_diagnosed_is_refused, 0, G_N_ELEMENTS(refused));
	tcase_add_test(record, cut_steps_are_left_out);
	tcase_add_loop_test(record, runs_of_others_are_replayed, 0, G_N_ELEMENTS(foreign));
	suite_add_tcase(suite, causes);
	tcase_add_loop_test(what_if, published_what_if_is_reproduced, 0, G_N_ELEMENTS(jobs));
	tcase_add_test(what_if, what_if_names_stages_and_ranks);
	tcase_add_test(what_if, what_if_needs_messages);
	suite_add_tcase(suite, record);
	suite_add_tcase(suite, what_if);
	return suite;
}
