#include "grid.h"
#include "references.h"
#include "runtime/csv.h"
#include "suites.h"
#include <stdio.h>
#include <stdlib.h>

static const PipesimSchedule *schedule_at(int i)
{
	return pipesim_schedule_list()[i];
}

static const GridCase *accepted_case(int i)
{
	int count;

	return &grid_accepted(&count)[i];
}

/* Names ---------------------------------------------------------------------------------------
 */

START_TEST(found_by_every_name)
{
	const PipesimSchedule *schedule = schedule_at(_i);
	g_autofree char *shouted = g_ascii_strup(schedule->name, -1);
	const char *aliases = schedule->aliases != NULL ? schedule->aliases : "";
	g_auto(GStrv) also = g_strsplit(aliases, ", ", -1);

	ck_assert_ptr_eq(pipesim_schedule_find(schedule->name, NULL), schedule);
	ck_assert_ptr_eq(pipesim_schedule_find(shouted, NULL), schedule);
	ck_assert_str_eq(pipesim_schedule_name(schedule), schedule->name);
	for (char **alias = also; *alias != NULL; alias++)
		ck_assert_ptr_eq(pipesim_schedule_find(*alias, NULL), schedule);
}
END_TEST

static guint count_sentences(const char *text)
{
	guint n = 0;

	for (const char *p = text; *p != '\0'; p++)
		n += *p == '.' && (p[1] == ' ' || p[1] == '\0');
	return n;
}

START_TEST(described_in_full)
{
	const PipesimSchedule *schedule = schedule_at(_i);

	ck_assert_int_eq((int)strspn(schedule->name, "abcdefghijklmnopqrstuvwxyz0123456789-"),
		(int)strlen(schedule->name));
	ck_assert(!g_str_has_suffix(schedule->summary, "."));
	ck_assert_ptr_nonnull(schedule->constraints);
	ck_assert_ptr_nonnull(schedule->reference);
	ck_assert_ptr_nonnull(schedule->idea);
	ck_assert_uint_eq(count_sentences(schedule->idea), 3);
	if (schedule->bubble.text != NULL) {
		ck_assert_ptr_nonnull(schedule->bubble.letters);
		ck_assert_ptr_nonnull(schedule->bubble.value);
		ck_assert_ptr_nonnull(schedule->bubble.exact);
	}
	if (schedule->activations.text != NULL)
		ck_assert_ptr_nonnull(schedule->activations.value);
}
END_TEST

static const char *const misspelt[][2] = {{"dualpip", "dualpipe"}, {"1f1", "1f1b"},
	{"gpip", "gpipe"}, {"chimera-doublin", "chimera-doubling"}, {"zbh1", "zb-h1"}};

START_TEST(misspelt_name)
{
	g_autoptr(GError) error = NULL;
	const PipesimSchedule *schedule = pipesim_schedule_find(misspelt[_i][0], &error);

	if (schedule != NULL) { /* an alias by now */
		ck_assert_str_eq(schedule->name, misspelt[_i][1]);
		return;
	}
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	ck_assert_msg(strstr(error->message, misspelt[_i][1]) != NULL, "%s", error->message);
}
END_TEST

/* Shapes --------------------------------------------------------------------------------------
 */

/* Whether following what refusals name, ranks, micro-batches, chunks, groups or pipelines, leads to a
 * shape that is taken. */
static gboolean advice_leads_on(const GridCase *point, guint steps)
{
	g_autoptr(GError) error = NULL;
	const PipesimScenario scenario = grid_scenario(point);
	PipesimShape shape;
	const char *c;

	if (pipesim_schedule_shape(point->schedule, &scenario, &shape, &error))
		return TRUE;
	c = strstr(error->message, "nearest");
	while (steps > 0 && c != NULL && *c != '\0') {
		char *end = (char *)c + 1;

		if (g_ascii_isdigit(*c)) {
			const guint value = (guint)strtoul(c, &end, 10);
			GridCase others[] = {*point, *point, *point, *point, *point, *point};

			others[0].microbatches = others[1].ranks = value;
			others[2].chunks = others[3].pipelines = others[4].group = value;
			others[5].slices = value;
			for (guint i = 0; i < G_N_ELEMENTS(others); i++)
				if (advice_leads_on(&others[i], steps - 1))
					return TRUE;
		}
		c = end;
	}
	return FALSE;
}

START_TEST(refusal_says_what_works)
{
	int count;
	const GridCase *point = &grid_refused(&count)[_i];
	g_autoptr(GError) error = NULL;
	g_autofree char *prefix = g_strdup_printf("%s: ", point->schedule->name);
	const PipesimScenario scenario = grid_scenario(point);
	PipesimShape shape;

	ck_assert(!pipesim_schedule_shape(point->schedule, &scenario, &shape, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
	ck_assert_msg(g_str_has_prefix(error->message, prefix), "%s", error->message);
	ck_assert_msg(advice_leads_on(point, 3), "%s", error->message);
}
END_TEST

START_TEST(huge_shapes)
{
	const PipesimSchedule *schedule = schedule_at(_i);
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(make_program(schedule, 100000, 1000000000, &error));
	ck_assert_msg(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT) ||
			      g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT),
		"%s", error->message);
}
END_TEST

/* Files ---------------------------------------------------------------------------------------
 */

START_TEST(round_trip)
{
	g_autoptr(PipesimProgram) program = grid_program(accepted_case(_i));
	g_autoptr(PipesimProgram) copy = NULL;
	g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);
	g_autoptr(GError) error = NULL;

	pipesim_schedule_write_csv(program, first);
	copy = parse_program(first->str, first->len, "x.csv", &error);
	ck_assert_msg(copy != NULL, "%s", error != NULL ? error->message : "");
	pipesim_schedule_write_csv(copy, second);
	ck_assert_str_eq(first->str, second->str);
	ck_assert_uint_eq(copy->n_ops, program->n_ops);
	ck_assert_uint_eq(copy->shape.stages, program->shape.stages);
	ck_assert_uint_eq(copy->shape.chunks, program->shape.chunks);
	ck_assert_uint_eq(copy->shape.copies, program->shape.copies);
	ck_assert_uint_eq(copy->shape.microbatches, program->shape.microbatches);
}
END_TEST

START_TEST(file_runs_as_its_schedule)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, point->ranks, FALSE);
	g_autoptr(PipesimRun) built_in = grid_run(point, costs);
	g_autoptr(PipesimRun) from_file = NULL;
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(GString) csv = g_string_new(NULL);
	const guint parts = pipesim_shape_parts(&built_in->shape);

	/* To a file every part is a micro-batch, but for slices. */
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		costs->time[kind] = parts == 1 || built_in->shape.sliced
					    ? costs->time[kind]
					    : built_in->times->chunk[kind];
	costs->p2p = built_in->times->p2p;
	pipesim_schedule_write_csv(built_in->step->program, csv);
	program = parse_program(csv->str, csv->len, "x.csv", NULL);
	from_file = pipesim_run_program("x.csv", program, NULL, &(PipesimScenario){0}, costs);
	ck_assert_ptr_null(from_file->error);
	ck_assert_int_eq(
		from_file->step->timeline->makespan, built_in->step->timeline->makespan);
	for (guint rank = 0; rank < point->ranks; rank++) {
		ck_assert_int_eq(from_file->report->bubble.idle[rank],
			built_in->report->bubble.idle[rank]);
		ck_assert_uint_eq(
			from_file->report->held.peak[rank], built_in->report->held.peak[rank]);
	}
	ck_assert_int_eq(from_file->report->held.unit.num * built_in->report->held.unit.den,
		from_file->report->held.unit.den * built_in->report->held.unit.num *
			(built_in->shape.sliced ? 1 : parts));
}
END_TEST

static const struct {
	const char *text;
	const char *where;
} bad_files[] = {
	{"0F0,0B0,9F0\n", "x.csv:1:9: "},
	{"0F0,0Q0\n", "x.csv:1:6: "},
	{"0F0,0B0x\n", "x.csv:1:8: "},
	{"0F0 ,0B0 0B1\n", "x.csv:1:9: "},
	{"0F0,0B0\n1F0,1B\n", "x.csv:2:7: "},
	{"0F0,0B0\r\n1F0,1B0,1X1\r\n", "x.csv:2:10: "},
	{"\xef\xbb\xbf"
	 "0F0,0G0\n",
		"x.csv:1:"},
	{"0F0,0B-1\n", "x.csv:1:7: "},
	{"0F99999999999999999999,0B0\n", "x.csv:1:3: "},
	{"0F0,(0F1;0B0)OVERLAP\n", "x.csv:1:13: "},
	{"0F0,0B0,0SEND_F0\n", "x.csv:1:9: "},
	{"0F0,0B0,0SEND_F\n", "x.csv:1:16: "},
	{"0F0,0B0,0SEND_G0\n", "x.csv:1:10: "},
	{"0F0,0B0,0UNSHARD0\n", "x.csv:1:17: "},
	{"0F0,(0B0)OVERLAP_F_B\n", "x.csv:1:5: "},
	{"0F0,(0B0;0F1)GROUP\n", "x.csv:1:6: "},
	{"0F0,(0B0;0F1\n", "x.csv:1:13: "},
	{"0F0,0B0,0F,0B1\n", "x.csv:1:11: "},
	{"0F0,\"0B0\n", "x.csv:1:"},
	{"0F0,\"0B0,\"\n", "x.csv:1:9: "},
	{"0F0,\"0B0\",\"0S\"\n", "x.csv:1:14: "},
	{"0F0,0B", "x.csv:1:7: "},
	{"0F0,0B0,0SEND_", "x.csv:1:10: "},
	{"0F0,(0F1;0B0)OV", "x.csv:1:13: "},
	{"0F0,0B1073741824\n", "x.csv:1:7: "},
	{" 0F0 ,\t0B0\t, 0Q0 \n", "x.csv:1:15: "},
	{"x,x,x,x,x,x,x,x,x,x,x,x,x,x,x,x\n", "x.csv:1:1: "},
	{"", "x.csv"},
	{"\n\n", "x.csv"},
	{"0F0\n", "x.csv"},
	{"0F0,0F0,0B0\n", "x.csv:1:5: "},
	{"0F0,0B0,0B0\n", "x.csv:1:9: "},
	{"0B0,0F0\n", "x.csv:1:1: "},
	{"0F0,0W0,0I0\n", "x.csv:1:5: "},
	{"0F0\n0B0\n", "x.csv:2:1: "},
	{"0F0,0I0\n", "x.csv"},
};

START_TEST(bad_file)
{
	g_autoptr(GError) error = NULL;

	ck_assert_msg(parse_program(bad_files[_i].text, strlen(bad_files[_i].text), "x.csv",
			      &error) == NULL,
		"'%s' was taken", bad_files[_i].text);
	ck_assert_msg(g_str_has_prefix(error->message, bad_files[_i].where),
		"'%s': want '%s', got '%s'", bad_files[_i].text, bad_files[_i].where,
		error->message);
}
END_TEST

/* The same order, whatever its cells look like. */
START_TEST(forms_of_cells)
{
	static const char *const forms[] = {"0F0,0F1,0B0,0B1\n", "0F0,0F1,0B0,0B1",
		" 0F0\t, 0F1,0B0 ,0B1 \r\n", "0F0,\"0F1\",0B0,\"0B1\"\n",
		"00F0,0F0000000001,000000000000000000000000B0,0B1\n", ",0F0,,0F1, ,0B0,0B1,\n"};

	for (guint i = 0; i < G_N_ELEMENTS(forms); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(GString) text = g_string_new(NULL);
		g_autoptr(PipesimProgram) program =
			parse_program(forms[i], strlen(forms[i]), "x.csv", &error);

		ck_assert_msg(program != NULL, "'%s': %s", forms[i],
			error != NULL ? error->message : "");
		pipesim_schedule_write_csv(program, text);
		ck_assert_str_eq(text->str, forms[0]);
	}
}
END_TEST

START_TEST(nul_in_file)
{
	static const char text[] = "0F0,0B0\n1F\0000,1B0\n";
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(parse_program(text, sizeof text - 1, "x.csv", &error));
	ck_assert_msg(g_str_has_prefix(error->message, "x.csv:2:"), "%s", error->message);
}
END_TEST

START_TEST(empty_line_is_a_rank_without_work)
{
	static const char text[] = "0F0,1F0,1B0,0B0\r\n\r\n2F0,2B0\r\n";
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimProgram) program =
		parse_program(text, sizeof text - 1, "x.csv", &error);

	ck_assert_msg(program != NULL, "%s", error != NULL ? error->message : "");
	ck_assert_uint_eq(program->shape.ranks, 3);
	ck_assert_uint_eq(program->rank_begin[1], program->rank_begin[2]);
	ck_assert_uint_eq(
		pipesim_op_stage(program, 2, &program->ops[program->rank_begin[2]]), 2);
}
END_TEST

START_TEST(up_to_twenty_faults)
{
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) lines = NULL;

	for (guint i = 0; i < 30; i++)
		g_string_append(text, "0Q0\n");
	ck_assert_ptr_null(parse_program(text->str, text->len, "x.csv", &error));
	lines = g_strsplit(error->message, "\n", -1);
	ck_assert_uint_ge(g_strv_length(lines), PIPESIM_MAX_FAULTS);
	for (guint i = 0; i < PIPESIM_MAX_FAULTS; i++) {
		g_autofree char *where = g_strdup_printf("x.csv:%u:2: ", i + 1);

		ck_assert_msg(g_str_has_prefix(lines[i], where), "%s", lines[i]);
	}
}
END_TEST

/* The peers' own orders -----------------------------------------------------------------------
 */

/* Which of our schedules a file is of. In its name stand _v and its chunks, _g and its group
 * and _np and its pipelines, where it has them. */
static const struct {
	const char *prefix, *schedule;
	gboolean group_is_ranks; /* where the file does not say */
} peers[] = {
	{"gpipe_", "gpipe", FALSE},
	{"1f1b_", "1f1b", FALSE},
	{"1f1b-zbrepo_", "1f1b", FALSE},
	{"1f1bv_", "1f1b-v", FALSE},
	{"interleaved1f1b_", "interleaved-1f1b", FALSE},
	{"megatron-interleaved_", "interleaved-1f1b", FALSE},
	{"vpp2-zbrepo_", "interleaved-1f1b", TRUE},
	{"loopedbfs_", "looped-bfs", FALSE},
	{"interleavedzb_", "interleaved-zb", FALSE},
	{"chimera-direct_", "chimera", FALSE},
	{"chimera-np4_", "chimera", FALSE},
	{"chimera-doubling_", "chimera-doubling", FALSE},
	{"zbv-torch_", "zb-v", FALSE},
	{"zbh1_", "zb-h1", FALSE},
	{"zbh2_", "zb-h2", FALSE},
	{"dualpipe_", "dualpipe", FALSE},
	{"dualpipev_", "dualpipev", FALSE},
};

static int peer_of(const char *basename)
{
	for (guint i = 0; i < G_N_ELEMENTS(peers); i++)
		if (g_str_has_prefix(basename, peers[i].prefix) &&
			g_str_has_suffix(basename, ".csv"))
			return (int)i;
	return -1;
}

static GPtrArray *reference_files(void)
{
	const char *prefixes[G_N_ELEMENTS(peers) + 1] = {NULL};

	for (guint i = 0; i < G_N_ELEMENTS(peers); i++)
		prefixes[i] = peers[i].prefix;
	return references_find(prefixes);
}

static guint number_after(const char *basename, const char *key)
{
	const char *at = strstr(basename, key);

	return at != NULL ? (guint)strtoul(at + strlen(key), NULL, 10) : 0;
}

static GridCase case_of(const char *basename)
{
	const int peer = peer_of(basename);
	GridCase point = {
		.schedule = pipesim_schedule_find(peers[peer].schedule, NULL),
		.ranks = number_after(basename, "_pp"),
		.microbatches = number_after(basename, "_mb"),
		.chunks = number_after(basename, "_v"),
		.group = number_after(basename, "_g"),
		.pipelines = number_after(basename, "-np"),
	};

	if (peers[peer].group_is_ranks)
		point.group = point.ranks;
	return point;
}

START_TEST(equals_reference)
{
	g_autoptr(GPtrArray) files = reference_files();
	const char *path = files->pdata[_i];
	g_autofree char *basename = g_path_get_basename(path);
	const GridCase point = case_of(basename);
	g_autofree char *reference = NULL;
	g_autoptr(GString) ours = g_string_new(NULL);
	g_autoptr(PipesimProgram) program = grid_program(&point);

	ck_assert(g_file_get_contents(path, &reference, NULL, NULL));
	pipesim_schedule_write_csv(program, ours);
	ck_assert_msg(g_str_equal(ours->str, reference), "%s differs", basename);
}
END_TEST

/* What Chimera's repository generates numbers micro-batches unit by unit: of units of PP
 * micro-batches each op stands where ours does, and of one unit the number is the same too. */
static const char *const units[] = {"chimera_pp4_mb4.csv", "chimera_pp4_mb8.csv",
	"chimera_pp4_mb12.csv", "chimera_pp8_mb16.csv", NULL};

/* Of no schedule of ours: numbers of micro-batches that are no multiple of PP, for which the paper
 * has no order; odd ones are refused, since each direction has half. */
static const char *const not_ours[] = {"chimera_pp4_mb2.csv", "chimera_pp4_mb6.csv",
	"chimera_pp4_mb3.csv", "chimera_pp4_mb5.csv", NULL};

/* Orders that depend on costs: test-schedule-search.c. */
static const char *const searched[] = {"vhalf_", "vmin_", "zbv_", "zbauto_", NULL};

static char *without_numbers(const char *orders)
{
	g_autoptr(GRegex) numbers = g_regex_new("([FB])[0-9]+", 0, 0, NULL);

	return g_regex_replace(numbers, orders, -1, 0, "\\1", 0, NULL);
}

START_TEST(chimera_units_equal_reference)
{
	const char *const prefixes[] = {units[_i], NULL};
	g_autoptr(GPtrArray) files = references_find(prefixes);
	g_autofree char *reference = NULL, *places = NULL, *our_places = NULL;
	g_autoptr(GString) ours = g_string_new(NULL);
	g_autoptr(PipesimProgram) program = NULL;
	GridCase point = {.schedule = pipesim_schedule_find("chimera", NULL),
		.ranks = number_after(units[_i], "_pp"),
		.microbatches = number_after(units[_i], "_mb")};

	ck_assert_uint_eq(files->len, 1);
	ck_assert(g_file_get_contents(files->pdata[0], &reference, NULL, NULL));
	program = grid_program(&point);
	pipesim_schedule_write_csv(program, ours);
	places = without_numbers(reference);
	our_places = without_numbers(ours->str);
	ck_assert_str_eq(our_places, places);
	ck_assert_int_eq(g_str_equal(ours->str, reference), point.microbatches == point.ranks);
}
END_TEST

static gboolean begins_with_one_of(const char *name, const char *const *prefixes)
{
	while (*prefixes != NULL && !g_str_has_prefix(name, *prefixes))
		prefixes++;
	return *prefixes != NULL;
}

/* None is forgotten, and those that are shipped are there. */
START_TEST(every_reference_is_compared)
{
	g_autoptr(GPtrArray) files = references_find((const char *const[]){"", NULL});

	ck_assert_uint_ge(files->len, 125);
	for (guint i = 0; i < files->len; i++) {
		g_autofree char *name = g_path_get_basename(files->pdata[i]);

		ck_assert_msg(peer_of(name) >= 0 || begins_with_one_of(name, units) ||
				      begins_with_one_of(name, searched) ||
				      begins_with_one_of(name, not_ours),
			"%s is compared with nothing", name);
	}
}
END_TEST

/* Chimera beyond the paper --------------------------------------------------------------------
 */

/* Micro-batches that are no multiple of PP: complete (linking checks that), without deadlock,
 * and never more activations than the published range. */
START_TEST(chimera_takes_any_even_count)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, 3000, 10);
	const guint ranks = 2 * (guint)_i;

	for (guint m = 2; m <= 4 * ranks + 6; m += 2) {
		g_autoptr(PipesimRun) run = make_run("chimera", ranks, m, costs);

		ck_assert_msg(run->error == NULL, "%u/%u: %s", ranks, m,
			run->error != NULL ? run->error->message : "");
		ck_assert_uint_le(run->report->held.max_peak, ranks);
	}
}
END_TEST

/* At F = B the bubble of N pipelines is (PP/N-1)(F+B), and ranks hold PP-PP/N+1 to PP. */
START_TEST(chimera_with_more_pipelines)
{
	static const guint shapes[][2] = {
		{4, 2}, {4, 4}, {8, 4}, {8, 8}, {12, 4}, {12, 6}, {16, 4}, {16, 8}, {24, 6}};
	const guint ranks = shapes[_i % 9][0], pipelines = shapes[_i % 9][1];
	const GridCase point = {pipesim_schedule_find("chimera", NULL), ranks,
		ranks * (1 + (guint)_i / 9), 0, 0, pipelines, FALSE, 0};
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 500, 500, -1, 0);
	g_autoptr(PipesimRun) run = grid_run(&point, costs);

	ck_assert_int_eq(run->report->bubble.max_idle, (ranks / pipelines - 1) * 2000);
	ck_assert_uint_eq(run->shape.copies, pipelines);
	for (guint rank = 0; rank < ranks; rank++) {
		ck_assert_uint_ge(run->report->held.peak[rank], ranks - ranks / pipelines + 1);
		ck_assert_uint_le(run->report->held.peak[rank], ranks);
	}
}
END_TEST

START_TEST(chimera_marks_its_extension)
{
	const PipesimSchedule *chimera = pipesim_schedule_find("chimera", NULL);
	PipesimScenario scenario = {.ranks = 8, .microbatches = 16};
	PipesimShape shape;

	ck_assert(pipesim_schedule_shape(chimera, &scenario, &shape, NULL));
	ck_assert_ptr_null(pipesim_schedule_extension(chimera, &shape));
	scenario.microbatches = 20;
	ck_assert(pipesim_schedule_shape(chimera, &scenario, &shape, NULL));
	ck_assert_ptr_nonnull(pipesim_schedule_extension(chimera, &shape));
	scenario.microbatches = 21;
	ck_assert(!pipesim_schedule_shape(chimera, &scenario, &shape, NULL));
	scenario = (PipesimScenario){.ranks = 7, .microbatches = 20};
	ck_assert(!pipesim_schedule_shape(chimera, &scenario, &shape, NULL));
}
END_TEST

static TCase *references(void)
{
	TCase *tcase = tcase_create("references");
	g_autoptr(GPtrArray) files = reference_files();

	tcase_add_loop_test(tcase, equals_reference, 0, (int)files->len);
	tcase_add_loop_test(tcase, chimera_units_equal_reference, 0, G_N_ELEMENTS(units) - 1);
	tcase_add_test(tcase, every_reference_is_compared);
	return tcase;
}

static TCase *files(int count)
{
	TCase *tcase = tcase_create("files");

	tcase_add_loop_test(tcase, round_trip, 0, count);
	tcase_add_loop_test(tcase, file_runs_as_its_schedule, 0, count);
	tcase_add_loop_test(tcase, bad_file, 0, G_N_ELEMENTS(bad_files));
	tcase_add_test(tcase, forms_of_cells);
	tcase_add_test(tcase, nul_in_file);
	tcase_add_test(tcase, empty_line_is_a_rank_without_work);
	tcase_add_test(tcase, up_to_twenty_faults);
	return tcase;
}

Suite *schedule_files_suite(void)
{
	Suite *suite = suite_create("schedule-files");
	TCase *names = tcase_create("names");
	TCase *shapes = tcase_create("shapes");
	int n = 0, accepted, refused;

	while (pipesim_schedule_list()[n] != NULL)
		n++;
	grid_accepted(&accepted);
	grid_refused(&refused);
	tcase_add_loop_test(names, found_by_every_name, 0, n);
	tcase_add_loop_test(names, described_in_full, 0, n);
	tcase_add_loop_test(names, misspelt_name, 0, G_N_ELEMENTS(misspelt));
	tcase_add_loop_test(shapes, refusal_says_what_works, 0, refused);
	tcase_add_loop_test(shapes, huge_shapes, 0, n);
	tcase_add_loop_test(shapes, chimera_takes_any_even_count, 1, 17);
	tcase_add_loop_test(shapes, chimera_with_more_pipelines, 0, 27);
	tcase_add_test(shapes, chimera_marks_its_extension);
	suite_add_tcase(suite, names);
	suite_add_tcase(suite, shapes);
	suite_add_tcase(suite, files(accepted));
	suite_add_tcase(suite, references());
	return suite;
}
