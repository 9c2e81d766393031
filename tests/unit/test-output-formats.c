#include "base/member.h"
#include "grid.h"
#include "output/figures.h"
#include "output/gnuplot.h"
#include "output/screen.h"
#include "output/text.h"
#include "output/timeline-layout.h"
#include "suites.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

static const PipesimStyle plain = {.unicode = TRUE, .width = 100};
static const PipesimStyle full = {.unicode = TRUE, .width = 100, .full = TRUE};
static const PipesimStyle ascii = {.width = 100};

/* Runs of @names, separated by commas; the first is shown as @shown unless that is NULL. */
static PipesimComparison *compare(const char *names, guint ranks, guint microbatches,
	const PipesimCosts *costs, const char *shown)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};
	PipesimComparison *comparison = pipesim_comparison_new(&scenario, costs);
	g_auto(GStrv) list = g_strsplit(names, ",", -1);

	for (char **name = list; *name != NULL; name++) {
		const PipesimSchedule *schedule = pipesim_schedule_find(*name, NULL);

		ck_assert_ptr_nonnull(schedule);
		g_ptr_array_add(
			comparison->runs, pipesim_run_schedule(schedule, &scenario, costs));
	}
	if (shown != NULL) {
		PipesimRun *run = g_ptr_array_index(comparison->runs, 0);

		g_free(run->name);
		run->name = g_strdup(shown);
	}
	pipesim_comparison_finish(comparison);
	return comparison;
}

static char *print_as(
	const char *format, const PipesimComparison *comparison, const PipesimStyle *style)
{
	const PipesimOutput *output = pipesim_output_find(format, NULL);
	GString *out = g_string_new(NULL);

	ck_assert_ptr_nonnull(output);
	output->write(comparison, style, out);
	return g_string_free(out, FALSE);
}

static char *print(const char *format, const PipesimComparison *comparison)
{
	return print_as(format, comparison, &plain);
}

static guint count(const char *text, const char *part)
{
	guint n = 0;

	for (const char *p = text; (p = strstr(p, part)) != NULL; p++)
		n++;
	return n;
}

#define assert_contains(text, part) \
	ck_assert_msg(strstr(text, part) != NULL, "no '%s' in:\n%s", part, text)

/* Formats ---------------------------------------------------------------------------------- */

START_TEST(formats_are_found)
{
	g_autoptr(GError) error = NULL;

	ck_assert_str_eq(pipesim_output_names(), "text, json, csv, ops");
	ck_assert_str_eq(pipesim_output_for_path("a.d/b.JSON")->name, "json");
	ck_assert_str_eq(pipesim_output_for_path("step.ops")->name, "ops");
	ck_assert_ptr_null(pipesim_output_for_path("a.json/b"));
	ck_assert_ptr_null(pipesim_output_for_path("json"));
	ck_assert_ptr_null(pipesim_output_find("xml", &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	assert_contains(error->message, "text, json, csv, ops");
}
END_TEST

static const gint64 microseconds[] = {0, 1, 1000, 1010, 123456789, G_MAXINT64};

START_TEST(json_layout)
{
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(PipesimJson) json = pipesim_json_new(out);

	pipesim_json_open_object(json, NULL);
	pipesim_json_open_line(json, "line");
	pipesim_json_open_object(json, "a");
	pipesim_json_close(json);
	pipesim_json_open_array(json, "b");
	PIPESIM_MEMBER(json, NULL, COUNT, 1);
	PIPESIM_MEMBER(json, NULL, COUNT, 2);
	pipesim_json_close(json);
	pipesim_json_close(json);
	pipesim_json_open_array(json, "us");
	for (gsize i = 0; i < G_N_ELEMENTS(microseconds); i++)
		PIPESIM_MEMBER(json, NULL, US, microseconds[i]);
	pipesim_json_close(json);
	pipesim_json_close(json);
	ck_assert_str_eq(out->str,
		"{\n"
		"  \"line\": {\"a\": {}, \"b\": [1, 2]},\n"
		"  \"us\": [0, 0.001, 1, 1.01, 123456.789, 9223372036854775.807]\n"
		"}\n");
}
END_TEST

/* What the list of figures promises to those who go by it. */
START_TEST(figures_are_listed)
{
	guint places[PIPESIM_OF_EACH_LINK + 1] = {0};
	g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < pipesim_n_figures; i++) {
		const PipesimFigure *figure = &pipesim_figures[i];

		ck_assert_ptr_eq(pipesim_figure(figure->id), figure);
		if (figure->sweep != NULL) {
			ck_assert_uint_lt(figure->id, PIPESIM_N_SWEPT);
			ck_assert_uint_lt(figure->kind, PIPESIM_TEXT);
		}
		if (figure->csv != NULL) {
			ck_assert(g_hash_table_add(names, (gpointer)figure->csv));
			ck_assert_uint_eq(figure->per, PIPESIM_PER_RUN);
		}
		if (figure->text.table == PIPESIM_IN_NO_TABLE)
			continue;
		ck_assert_uint_eq(places[figure->text.table] >> figure->text.place & 1, 0);
		places[figure->text.table] |= 1u << figure->text.place;
	}
	/* No column is left out, and each has one figure. */
	for (guint table = PIPESIM_OF_RUNS; table < G_N_ELEMENTS(places); table++)
		ck_assert_uint_eq(places[table] & (places[table] + 2), 0);
}
END_TEST

START_TEST(figures_are_rounded)
{
	PipesimNumber out;

	ck_assert_str_eq(pipesim_figure_fixed(out, 1.0 / 3, 4), "0.3333");
	ck_assert_str_eq(pipesim_figure_fixed(out, 2.0 / 3, 2), "0.67");
	ck_assert_str_eq(pipesim_figure_fixed(out, 8.5, 1), "8.5");
	ck_assert_str_eq(pipesim_figure_fixed(out, 0, 2), "0.00");
}
END_TEST

START_TEST(values_are_printed)
{
	static const PipesimNumbers numbers = {.decimals = 2, .activations = 1};
	const PipesimValue time = {.integer = 1234567}, none = {.integer = G_MININT64};
	const PipesimValue share = {.number = 0.125}, nothing = {.number = (double)NAN};
	g_autofree char *ms = pipesim_value_print(PIPESIM_TIME, time, &numbers);
	g_autofree char *percent = pipesim_value_print(PIPESIM_SHARE, share, &numbers);
	g_autofree char *bytes = pipesim_value_print(PIPESIM_BYTES, time, &numbers);
	g_autoptr(GString) exact = g_string_new(NULL);

	ck_assert_str_eq(ms, "1.23");
	ck_assert_str_eq(percent, "12.5");
	ck_assert_str_eq(bytes, "1.18 MiB");
	ck_assert_ptr_null(pipesim_value_print(PIPESIM_COUNT, none, &numbers));
	ck_assert(!pipesim_value_known(PIPESIM_FACTOR, nothing));
	pipesim_value_plain(exact, PIPESIM_TIME, none);
	pipesim_value_plain(exact, PIPESIM_TIME, time);
	ck_assert_str_eq(exact->str, "1.234567");
}
END_TEST

START_TEST(json_numbers)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000000, 1000000, 1000000, 2400000, 0);
	g_autoptr(PipesimComparison) comparison =
		compare("dualpipe,dualpipev,zb-h2", 8, 20, costs, NULL);
	g_autofree char *text = print("json", comparison);

	assert_contains(text,
		"\"times_ms\": {\"F\": 1, \"I\": 1, \"W\": 1, \"B\": 2, \"FB\": 2.4, "
		"\"P2P\": 0},");
	assert_contains(text, "\"makespan_ms\": 57.6,");
	assert_contains(text, "\"per_rank_ms\": [3, 3.6, 4.2, 4.2, 4.2, 4.2, 3.6, 3],");
	assert_contains(text, "\"peak\": 8.5,");
	assert_contains(text, "\"memory_bytes\": null,");
	assert_contains(text, "\"source\": null,");
	ck_assert_uint_eq(count(text, "\"best\": true"), 1);
}
END_TEST

START_TEST(csv_quotes)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimComparison) comparison =
		compare("1f1b,dualpipe", 3, 4, costs, "a,\"b\".csv");
	g_autofree char *text = print("csv", comparison);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	ck_assert_uint_eq(g_strv_length(lines), 4);
	ck_assert_str_eq(lines[3], "");
	ck_assert_msg(
		g_str_has_prefix(lines[1], "\"a,\"\"b\"\".csv\",3,4,3,18,6,"), "%s", lines[1]);
	ck_assert_msg(g_str_has_prefix(lines[2], "dualpipe,,,,,,,,,,,,,,,,,"), "%s", lines[2]);
	ck_assert_uint_eq(count(lines[0], ","), 18);
	ck_assert_uint_eq(count(lines[1], ","), 19);
}
END_TEST

/* Every text of up to four of the bytes that mean something to gnuplot is printed by it as it is. */
START_TEST(gnuplot_takes_any_text)
{
	static const char bytes[] = "'\"\\`@a";
	g_autofree char *gnuplot = g_find_program_in_path("gnuplot"), *printed = NULL;
	g_autoptr(GString) script = g_string_new("set print '-'\n"), texts = g_string_new(NULL);
	g_autofree char *path = NULL;
	const char *argv[] = {gnuplot, "-d", NULL, NULL};

	if (gnuplot == NULL)
		return;
	for (guint length = 1, n = 6; length <= 4; length++, n *= 6)
		for (guint code = 0; code < n; code++) {
			char text[5] = "";

			for (guint i = 0, rest = code; i < length; i++, rest /= 6)
				text[i] = bytes[rest % 6];
			g_string_append_printf(texts, "%s\n", text);
			pipesim_gnuplot_quote(script, "print ", text, "\n");
		}
	close(g_file_open_tmp(NULL, &path, NULL));
	ck_assert(g_file_set_contents(path, script->str, -1, NULL));
	argv[2] = path;
	ck_assert(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &printed,
		NULL, NULL, NULL));
	unlink(path);
	ck_assert_msg(strcmp(printed, texts->str) == 0, "gnuplot prints another text");
}
END_TEST

/* The answer is a screen whatever was compared, with one row to take. */
START_TEST(answer_fits_a_screen)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1234567, 1345678, 987654, 3456789, 12345);
	g_autoptr(PipesimComparison) comparison =
		compare("gpipe,1f1b,chimera,chimera-doubling,zb-h1,zb-h2,dualpipe,dualpipev",
			_i, 4 * _i, costs, NULL);
	g_autofree char *text = print("text", comparison);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line != NULL; line++)
		ck_assert_msg(g_utf8_strlen(*line, -1) <= PIPESIM_SCREEN_WIDTH, "%s", *line);
	ck_assert_uint_le(g_strv_length(lines), PIPESIM_SCREEN_LINES + 1);
	ck_assert_uint_eq(count(text, "\n* "), 1);
	assert_contains(text, "1f1b");
}
END_TEST

/* What a run has is independent of which others stand beside it, and no line is too wide. */
START_TEST(text_fits_a_page)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1234567, 1345678, 987654, 3456789, 12345);
	g_autoptr(PipesimComparison) comparison =
		compare("gpipe,1f1b,chimera,chimera-doubling,zb-h1,zb-h2,dualpipe,dualpipev",
			_i, 4 * _i, costs, NULL);
	g_autofree char *text = print_as("text", comparison, &full);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (char **line = lines; *line != NULL; line++)
		ck_assert_msg(g_utf8_strlen(*line, -1) <= 100, "%s", *line);
	ck_assert_uint_eq(count(text, "\n* "), 2);
	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, i);

		assert_contains(text, run->name);
	}
}
END_TEST

START_TEST(text_says_reasons_once)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000000, 1000000, 1000000, 3000000, 50000);
	g_autoptr(PipesimComparison) comparison =
		compare("gpipe,1f1b,zb-h1,dualpipe", 8, 20, costs, NULL);
	g_autofree char *text = print_as("text", comparison, &full);

	assert_contains(text, "\nall: P2P: ");
	ck_assert_uint_eq(count(text, "P2P: the formula"), 1);
}
END_TEST

/* Layout ----------------------------------------------------------------------------------- */

/* Boxes of a rank follow each other without overlap, and fill what the report calls busy. */
START_TEST(boxes_do_not_overlap)
{
	const GridCase *point = &grid_accepted(&(int){0})[_i];
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, TRUE);
	g_autoptr(PipesimRun) run = grid_run(point, costs);
	PipesimBox boxes[2];

	for (guint rank = 0; rank < run->shape.ranks; rank++) {
		gint64 busy = 0, last = 0;

		for (guint32 op = run->step->program->rank_begin[rank];
			op < run->step->program->rank_begin[rank + 1]; op++) {
			guint n = pipesim_layout_boxes(NULL, run, rank, op, boxes);

			for (guint i = 0; i < n; i++) {
				ck_assert_int_ge(boxes[i].start, last);
				ck_assert_int_gt(boxes[i].end, boxes[i].start);
				ck_assert_uint_lt(boxes[i].kind, PIPESIM_FB);
				ck_assert_uint_eq(boxes[i].rank, rank);
				busy += boxes[i].end - boxes[i].start;
				last = boxes[i].end;
			}
		}
		ck_assert_int_eq(busy, run->report->bubble.busy[rank]);
	}
}
END_TEST

/* Direction 1 has the upper half of the micro-batches, in both halves of a pair. */
START_TEST(shades_are_directions)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimRun) run = named_run("dualpipe", 8, 20, costs);
	PipesimBox boxes[2];
	guint pairs = 0;

	for (guint32 op = 0; op < run->step->program->n_ops; op++) {
		guint n = pipesim_layout_boxes(
			NULL, run, pipesim_program_rank(run->step->program, op), op, boxes);

		for (guint i = 0; i < n; i++)
			ck_assert_uint_eq(boxes[i].shade, boxes[i].microbatch >= 10);
		if (n < 2)
			continue;
		pairs++;
		ck_assert_int_eq(boxes[0].end, boxes[1].start);
		ck_assert_uint_eq(boxes[0].kind, PIPESIM_F);
		ck_assert_uint_eq(boxes[1].kind, PIPESIM_B);
	}
	ck_assert_uint_gt(pairs, 0);
}
END_TEST

/* Timeline in characters ------------------------------------------------------------------- */

static char *draw(const PipesimComparison *comparison, const PipesimStyle *style)
{
	GString *out = g_string_new(NULL);

	pipesim_timeline_text(comparison, &(PipesimView){0}, style, out);
	return g_string_free(out, FALSE);
}

/* Line by line: Check prints a message of a whole screen badly. */
static void assert_screen(const char *text, const char *expected)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	g_auto(GStrv) wanted = g_strsplit(expected, "\n", -1);

	for (guint i = 0; lines[i] != NULL && wanted[i] != NULL; i++)
		ck_assert_str_eq(lines[i], wanted[i]);
	ck_assert_uint_eq(g_strv_length(lines), g_strv_length(wanted));
}

START_TEST(timeline_is_exact)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimComparison) comparison = compare("dualpipe", 4, 8, costs, NULL);
	g_autofree char *text = draw(comparison, &plain);

	/* clang-format off */
	assert_screen(text,
		"dualpipe: PP 4, 8 micro-batches, makespan 26 ms, bubble 2 ms (7.7 % of all ranks), 5 activations, 2\n"
		"  parameter copies\n"
		"0 │F0─F1─F2─f4─i4─w4─f5─F3─b5────   f6─B0────b6────   f7─B1────b7────I2─W2─I3─W3─\n"
		"1 │   F0─f4─F1─f5─F2─b4────f6─B0────F3─b5────f7─B1────b6────B2────   i7─I3─w7─W3─\n"
		"2 │   f4─F0─f5─F1─f6─B0────F2─b4────f7─B1────F3─b5────B2────b6────   I3─i7─W3─w7─\n"
		"3 │f4─f5─f6─F0─I0─W0─F1─f7─B1────   F2─b4────B2────   F3─b5────B3────i6─w6─i7─w7─\n"
		"  └──────────────┴──────────────┴──────────────┴──────────────┴──────────────┴───\n"
		"  0              5              10             15             20             25 ms\n"
		"3 columns: 1 ms; F forward; I backward for input; W backward for weights; B full backward; small\n"
		"letters: reverse direction\n");
	/* clang-format on */
}
END_TEST

START_TEST(timeline_in_ascii)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimComparison) comparison = compare("1f1b,gpipe", 2, 2, costs, NULL);
	const PipesimStyle narrow = {.width = 40};
	g_autofree char *text = draw(comparison, &narrow);

	/* clang-format off */
	assert_screen(text,
		"1f1b: PP 2, 2 micro-batches, makespan 9\n"
		"  ms, bubble 3 ms (33.3 % of all ranks),\n"
		"  2 activations\n"
		"0 |F0--F1--        B0------    B1------\n"
		"1 |    F0--B0------F1--B1------\n"
		"gpipe: PP 2, 2 micro-batches, makespan 9\n"
		"  ms, bubble 3 ms (33.3 % of all ranks),\n"
		"  2 activations\n"
		"0 |F0--F1--            B0------B1------\n"
		"1 |    F0--F1--B0------B1------\n"
		"  +-------------------+----------------\n"
		"  0                   5 ms\n"
		"4 columns: 1 ms; F forward; B full\n"
		"backward\n");
	/* clang-format on */
}
END_TEST

/* More boxes than columns: how busy a rank is in each, nothing rounded away. */
START_TEST(timeline_of_many_boxes)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimComparison) comparison = compare("1f1b", 2, 300, costs, NULL);
	const PipesimStyle narrow = {.unicode = TRUE, .width = 43};
	g_autofree char *text = draw(comparison, &narrow);

	assert_contains(text, "\n0 │▇██████████████████████████████████████▇\n");
	assert_contains(text, "\n1 │▇██████████████████████████████████████▇\n");
}
END_TEST

START_TEST(timeline_is_ascii_all_through)
{
	const GridCase *point = &grid_accepted(&(int){0})[_i];
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, FALSE);
	g_autoptr(PipesimComparison) comparison =
		compare(point->schedule->name, point->ranks, point->microbatches, costs, NULL);
	g_autofree char *text = draw(comparison, &ascii);

	ck_assert(g_str_is_ascii(text));
	for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
		ck_assert_int_le(end - line, 112);
}
END_TEST

/* What is asked of a runtime, behind its rule; and what sharding is told of. */
static const struct {
	const PipesimRuntime *runtime;
	PipesimIssuing issuing;
	PipesimSharding sharding;
	const char *wanted;
} titles[] = {
	{&pipesim_runtime_pytorch_2_15,
		{.communicators = PIPESIM_COMMUNICATOR_PAIR, .max_sends = 1}, {0},
		"; one queue for each pair of ranks; at most 1 send not waited for\n"},
	{&pipesim_runtime_pytorch_2_15,
		{.communicators = PIPESIM_COMMUNICATOR_EDGE,
			.defer_recv = TRUE,
			.max_sends = 2},
		{0},
		"; one queue for each pair of ranks and direction; receives right before their "
		"op; "
		"at most 2 sends not waited for\n"},
	{&pipesim_runtime_megatron,
		{.overlap_flush = TRUE, .keep_outputs = TRUE, .no_host_sync = TRUE}, {0},
		"; receives ahead in warm-up and cool-down too; outputs are kept, sends waited "
		"for "
		"later; the host does not wait for batches\n"},
	{&pipesim_runtime_megatron, {.no_overlap = TRUE, .host_time = 500000}, {0},
		"; what goes between two ops is one batch; the host waits 0.5 ms behind each "
		"batch\n"},
	{&pipesim_runtime_megatron, {.delay_wgrad = 1500000}, {0},
		"; the last 1.5 ms of a pair are behind its sends\n"},
	{&pipesim_runtime_pytorch_2_15,
		{.active_stages = 2, .ahead = PIPESIM_AHEAD_AUTO, .defer_reduce_wait = TRUE},
		{.unshard = 1000000, .reduce = 500000},
		"FSDP: the stages of a rank are gathered in 1 ms and reduced in 0.5 ms; a rank "
		"keeps 2 gathered, rank + 2 of them ahead; reductions are waited for late\n"},
	{&pipesim_runtime_pytorch_2_15, {.ahead = PIPESIM_AHEAD_LIST},
		{.bytes = 2000000000, .bandwidth = 50000000000},
		"FSDP: the stages of a rank are 1.86 GiB, once gathered; gathered and reduced "
		"at "
		"50 "
		"GB/s, as many ahead as told by rank\n"},
	{&pipesim_runtime_pytorch_2_15, {0}, {.bandwidth = 50000000000},
		"FSDP: stages are gathered and reduced at 50 GB/s\n"},
};

START_TEST(titles_say_what_is_asked)
{
	const PipesimScenario scenario = {.ranks = 4,
		.microbatches = 8,
		.runtime = titles[_i].runtime,
		.issuing = titles[_i].issuing};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimComparison) comparison = NULL;
	g_autoptr(GString) text = g_string_new(NULL);

	costs->sharding = titles[_i].sharding;
	comparison = pipesim_comparison_new(&scenario, costs);
	pipesim_text_titles(comparison, 1000, text);
	ck_assert_msg(strstr(text->str, titles[_i].wanted) != NULL, "%s", text->str);
}
END_TEST

Suite *output_formats_suite(void)
{
	Suite *suite = suite_create("output-formats");
	TCase *formats = tcase_create("formats");
	TCase *timeline = tcase_create("timeline");
	int n;

	tcase_add_test(formats, formats_are_found);
	tcase_add_loop_test(formats, titles_say_what_is_asked, 0, G_N_ELEMENTS(titles));
	tcase_add_test(formats, json_layout);
	tcase_add_test(formats, figures_are_listed);
	tcase_add_test(formats, figures_are_rounded);
	tcase_add_test(formats, values_are_printed);
	tcase_add_test(formats, json_numbers);
	tcase_add_test(formats, csv_quotes);
	tcase_add_test(formats, gnuplot_takes_any_text);
	tcase_add_loop_test(formats, answer_fits_a_screen, 1, 9);
	tcase_add_loop_test(formats, text_fits_a_page, 1, 9);
	tcase_add_test(formats, text_says_reasons_once);
	grid_accepted(&n);
	tcase_add_loop_test(timeline, boxes_do_not_overlap, 0, n);
	tcase_add_loop_test(timeline, timeline_is_ascii_all_through, 0, n);
	tcase_add_test(timeline, shades_are_directions);
	tcase_add_test(timeline, timeline_is_exact);
	tcase_add_test(timeline, timeline_in_ascii);
	tcase_add_test(timeline, timeline_of_many_boxes);
	suite_add_tcase(suite, formats);
	suite_add_tcase(suite, timeline);
	return suite;
}
