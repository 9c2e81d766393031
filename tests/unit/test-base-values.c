#include "base/hash.h"
#include "base/ini.h"
#include "base/member.h"
#include "base/parallel.h"
#include "suites.h"
#include <math.h>

/* Numbers -------------------------------------------------------------------------------------
 */

static const struct {
	const char *text;
	guint64 value;
} counts[] = {{"1", 1}, {"010", 10}, {"0000000000000000000000000020", 20},
	{"4294967295", 4294967295}, {"18446744073709551615", G_MAXUINT64}};

START_TEST(count_is_decimal)
{
	g_autoptr(GError) error = NULL;
	guint64 value = 77;

	ck_assert(pipesim_parse_count(counts[_i].text, "--pp", 0, G_MAXUINT64, &value, &error));
	ck_assert_ptr_null(error);
	ck_assert_uint_eq(value, counts[_i].value);
}
END_TEST

static const char *const bad_counts[] = {"", " ", "-1", "+1", " 1", "1 ", "0x10", "1e3", "1.0",
	"1.", "nan", "inf", "ten", "1,000", "18446744073709551616",
	"99999999999999999999999999", "1\n", "٣"};

START_TEST(count_refused)
{
	g_autoptr(GError) error = NULL;
	guint64 value = 77;

	ck_assert(!pipesim_parse_count(bad_counts[_i], "--pp", 0, G_MAXUINT64, &value, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	ck_assert_msg(strstr(error->message, "--pp") != NULL, "%s", error->message);
	ck_assert_uint_eq(value, 77);
}
END_TEST

START_TEST(count_range)
{
	guint64 value;

	ck_assert(pipesim_parse_count("8", "x", 8, 8, &value, NULL));
	ck_assert(!pipesim_parse_count("7", "x", 8, 8, &value, NULL));
	ck_assert(!pipesim_parse_count("9", "x", 8, 8, &value, NULL));
	ck_assert(!pipesim_parse_count("0", "x", 1, G_MAXUINT64, &value, NULL));
}
END_TEST

static const struct {
	const char *text;
	gint64 ns;
} good_times[] = {{"1", 1000000}, {"0", 0}, {"0.25", 250000}, {"1e3", 1000000000},
	{"100us", 100000}, {"5 ns", 5}, {"1.5s", 1500000000}, {"57.6ms", 57600000},
	{"0.000001", 1}, {"0.0000004", 0}, {"0.0000005", 1}, {"2.4", 2400000},
	{"010", 10000000}, {"1e-6", 1}, {"1152921504606.846976", PIPESIM_MAX_TIME_NS},
	{"0.1", 100000}, {"0.3", 300000}};

START_TEST(time_is_exact)
{
	g_autoptr(GError) error = NULL;
	gint64 ns = -5;

	ck_assert_msg(pipesim_parse_time(good_times[_i].text, "F", &ns, &error), "%s: %s",
		good_times[_i].text, error != NULL ? error->message : "");
	ck_assert_int_eq(ns, good_times[_i].ns);
}
END_TEST

static const char *const bad_times[] = {"", " ", "-1", "-0.5", "nan", "NaN", "inf", "Infinity",
	"-inf", "0x1p3", "0x10", "1e", "1e400", "99999999999999999999", "1e30", "1,5", "1h",
	"1 m", "ms", "1msms", "1..2", ".", "1e3e3", "1152921504606.846977", "1s 2", "1µs2"};

START_TEST(time_refused)
{
	g_autoptr(GError) error = NULL;
	gint64 ns = -5;

	ck_assert_msg(!pipesim_parse_time(bad_times[_i], "F", &ns, &error),
		"'%s' gave %" G_GINT64_FORMAT, bad_times[_i], ns);
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	ck_assert_int_eq(ns, -5);
}
END_TEST

static const struct {
	const char *text;
	gint64 bytes;
} good_bytes[] = {{"0", 0}, {"58700000", 58700000}, {"58.7MB", 58700000}, {"56MiB", 58720256},
	{"80GB", G_GINT64_CONSTANT(80000000000)}, {"1.5KiB", 1536},
	{"1TB", G_GINT64_CONSTANT(1000000000000)}};

START_TEST(bytes_are_exact)
{
	gint64 bytes = -1;

	ck_assert_msg(pipesim_parse_bytes(good_bytes[_i].text, "x", &bytes, NULL), "%s",
		good_bytes[_i].text);
	ck_assert_int_eq(bytes, good_bytes[_i].bytes);
}
END_TEST

static const char *const bad_bytes[] = {
	"", "-1", "nan", "1XB", "GB", "99999999999999999999GB", "0x10", "1e999", "12 12"};

START_TEST(bytes_refused)
{
	g_autoptr(GError) error = NULL;
	gint64 bytes = -1;

	ck_assert_msg(
		!pipesim_parse_bytes(bad_bytes[_i], "x", &bytes, &error), "%s", bad_bytes[_i]);
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
}
END_TEST

START_TEST(bandwidth_in_bytes_or_bits)
{
	static const char *const bad[] = {"", "/s", "0GB/s", "7bit", "1GB/h", "-1"};
	gint64 bandwidth;

	ck_assert(pipesim_parse_bandwidth("400Gbit/s", "x", &bandwidth, NULL));
	ck_assert_int_eq(bandwidth, G_GINT64_CONSTANT(50000000000));
	ck_assert(pipesim_parse_bandwidth("56GiB", "x", &bandwidth, NULL));
	ck_assert_int_eq(bandwidth, G_GINT64_CONSTANT(56) << 30);
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert_msg(!pipesim_parse_bandwidth(bad[i], "x", &bandwidth, &error), "%s",
			bad[i]);
		ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	}
}
END_TEST

START_TEST(fraction_is_exact)
{
	PipesimFraction value;

	ck_assert(pipesim_parse_fraction("1.25", "x", &value, NULL));
	ck_assert_int_eq(value.num * 4, value.den * 5);
	ck_assert(pipesim_parse_fraction("0", "x", &value, NULL));
	ck_assert_int_eq(value.num, 0);
	ck_assert(value.den > 0);
	ck_assert(pipesim_parse_fraction("0.000000001", "x", &value, NULL));
	ck_assert_int_eq(value.num * 1000000000, value.den);
	ck_assert(!pipesim_parse_fraction("-1", "x", &value, NULL));
	ck_assert(!pipesim_parse_fraction("nan", "x", &value, NULL));
	ck_assert(!pipesim_parse_fraction("1e10", "x", &value, NULL));
}
END_TEST

static const struct {
	gint64 ns;
	const char *text;
} printed[] = {{57600000, "57.6"}, {0, "0"}, {-1234567, "-1.234567"}, {1, "0.000001"},
	{-1, "-0.000001"}, {1000000, "1"}, {66000000, "66"}, {100000, "0.1"}, {10000000, "10"},
	{1000000001, "1000.000001"}, {G_MAXINT64, "9223372036854.775807"},
	{G_MININT64, "-9223372036854.775808"}};

START_TEST(ms_shortest)
{
	PipesimNumber out;

	ck_assert_str_eq(pipesim_print_ms(out, printed[_i].ns), printed[_i].text);
}
END_TEST

static const struct {
	gint64 ns;
	guint decimals;
	const char *text;
} fixed[] = {{57600000, 1, "57.6"}, {57650000, 1, "57.7"}, {-57650000, 1, "-57.7"},
	{57649999, 1, "57.6"}, {999999, 0, "1"}, {499999, 0, "0"}, {500000, 0, "1"},
	{1, 6, "0.000001"}, {0, 3, "0.000"}, {99999, 1, "0.1"}, {-40000, 1, "0.0"},
	{1234567, 6, "1.234567"}, {G_MAXINT64, 2, "9223372036854.78"}};

START_TEST(ms_fixed)
{
	PipesimNumber out;

	ck_assert_str_eq(
		pipesim_print_ms_fixed(out, fixed[_i].ns, fixed[_i].decimals), fixed[_i].text);
}
END_TEST

START_TEST(doubles_are_shortest)
{
	PipesimNumber out;

	ck_assert_str_eq(pipesim_print_double(out, 0.1), "0.1");
	ck_assert_str_eq(pipesim_print_double(out, 12.345), "12.345");
	ck_assert_str_eq(pipesim_print_double(out, 0), "0");
	ck_assert_str_eq(pipesim_print_double(out, 8.5), "8.5");
	for (double value = 1e-9; value < 1e12; value *= -3.7)
		ck_assert_double_eq(
			g_ascii_strtod(pipesim_print_double(out, value), NULL), value);
}
END_TEST

START_TEST(bytes_are_readable)
{
	PipesimNumber out;

	ck_assert_str_eq(pipesim_print_bytes(out, 512), "512 B");
	ck_assert_str_eq(pipesim_print_bytes(out, 0), "0 B");
	ck_assert_str_eq(pipesim_print_bytes(out, G_GINT64_CONSTANT(43600000000)), "40.6 GiB");
	ck_assert_str_eq(pipesim_print_bytes(out, 999), "999 B");
	ck_assert_str_eq(pipesim_print_bytes(out, 1000), "1000 B");
	ck_assert_str_eq(pipesim_print_bytes(out, 1048575), "1.00 MiB");
}
END_TEST

START_TEST(scaling_is_exact)
{
	ck_assert_int_eq(pipesim_time_scale(1000001, 1, 2), 500001);
	ck_assert_int_eq(pipesim_time_scale(3, 1, 4), 1);
	ck_assert_int_eq(pipesim_time_scale(1, 1, 4), 0);
	ck_assert_int_eq(pipesim_time_scale(G_MAXINT64, 3, 3), G_MAXINT64);
	ck_assert_int_eq(pipesim_time_scale(G_MAXINT64, 3, 2), G_MAXINT64);
	ck_assert_int_eq(pipesim_time_scale(PIPESIM_MAX_TIME_NS, 1000000007, 1000000009),
		(gint64)((__int128)PIPESIM_MAX_TIME_NS * 1000000007 / 1000000009 + 1));
	ck_assert_int_eq(pipesim_time_scale(0, 5, 7), 0);
}
END_TEST

/* Errors --------------------------------------------------------------------------------------
 */

START_TEST(error_has_location)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GError) copy = NULL;

	ck_assert(!pipesim_fail_at(&error, "a.csv", 3, 7, "bad action '%s'", "9Q1"));
	copy = g_error_copy(error);
	ck_assert_str_eq(copy->message, "a.csv:3:7: bad action '9Q1'");
	ck_assert(g_error_matches(copy, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_str_eq(pipesim_error_location(copy)->path, "a.csv");
	ck_assert_uint_eq(pipesim_error_location(copy)->line, 3);
	ck_assert_uint_eq(pipesim_error_location(copy)->column, 7);
	ck_assert(!pipesim_fail_at(NULL, "a.csv", 3, 7, "nobody listens"));
	ck_assert(!pipesim_fail(NULL, PIPESIM_ERROR_USAGE, "nobody listens"));
}
END_TEST

START_TEST(faults_are_collected)
{
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) lines = NULL;

	ck_assert(pipesim_faults_done(faults, &error));
	ck_assert_ptr_null(error);
	for (guint i = 1; i <= PIPESIM_MAX_FAULTS + 13; i++) {
		GError *fault = NULL;

		pipesim_fail_at(&fault, "a.csv", i, 1, "fault");
		pipesim_faults_take(faults, fault);
	}
	ck_assert_uint_eq(faults->errors->len, PIPESIM_MAX_FAULTS);
	ck_assert_uint_eq(faults->total, PIPESIM_MAX_FAULTS + 13);
	ck_assert(!pipesim_faults_done(faults, &error));
	ck_assert_uint_eq(pipesim_error_location(error)->line, 1);
	lines = g_strsplit(error->message, "\n", -1);
	ck_assert_str_eq(lines[0], "a.csv:1:1: fault");
	ck_assert_str_eq(lines[PIPESIM_MAX_FAULTS - 1], "a.csv:20:1: fault");
	ck_assert_msg(strstr(error->message, "13") != NULL, "%s", error->message);
}
END_TEST

/* JSON ----------------------------------------------------------------------------------------
 */

START_TEST(json_is_escaped)
{
	g_autoptr(GString) out = g_string_new(NULL);
	PipesimJson *json = pipesim_json_new(out);

	pipesim_json_open_array(json, NULL);
	PIPESIM_MEMBER(json, NULL, TEXT, "a\"b\\c\n\t\x01/");
	PIPESIM_MEMBER(json, NULL, TEXT, "\xff");
	PIPESIM_MEMBER(json, NULL, TEXT, NULL);
	PIPESIM_MEMBER(json, NULL, FACTOR, NAN);
	PIPESIM_MEMBER(json, NULL, FACTOR, INFINITY);
	PIPESIM_MEMBER(json, NULL, TIME, 57600000);
	PIPESIM_MEMBER(json, NULL, COUNT, G_MAXINT64);
	PIPESIM_MEMBER(json, NULL, YES_OR_NO, TRUE);
	PIPESIM_MEMBER(json, NULL, TEXT, NULL);
	pipesim_json_close(json);
	pipesim_json_free(json);
	ck_assert_str_eq(g_strchomp(out->str),
		"[\"a\\\"b\\\\c\\n\\t\\u0001/\", \"\xef\xbf\xbd\", null, null, null, 57.6, "
		"9223372036854775807, true, null]");
}
END_TEST

START_TEST(json_keeps_order)
{
	g_autoptr(GString) out = g_string_new(NULL);
	PipesimJson *json = pipesim_json_new(out);
	const char *z, *a;

	pipesim_json_open_object(json, NULL);
	PIPESIM_MEMBER(json, "z", COUNT, 1);
	pipesim_json_open_object(json, "a");
	pipesim_json_close(json);
	pipesim_json_close(json);
	pipesim_json_free(json);
	z = strstr(out->str, "\"z\": 1");
	a = strstr(out->str, "\"a\": {}");
	ck_assert_msg(z != NULL && a != NULL && z < a, "%s", out->str);
}
END_TEST

typedef struct {
	const char *name;
	guint n;
	const gint64 *ns;
	double share;
} Thing;

static void put_cells(PipesimJson *json, const Thing *thing, guint index)
{
	PIPESIM_MEMBER(json, "name", TEXT, thing->name);
	PIPESIM_MEMBER(json, "n", COUNT, thing->n + index);
	PIPESIM_MEMBER(json, "first_ms", TIME, PIPESIM_KNOWN(thing->n > 0, thing->ns[0]));
	PIPESIM_MEMBER(json, "share", SHARE, thing->share);
}

static void put_thing(PipesimJson *json, const Thing *thing)
{
	pipesim_json_open_object(json, NULL);
	PIPESIM_EACH(json, "odd", line, thing->n, i % 2 == 1, put_cells, thing);
	PIPESIM_LIST(json, "times_us", US, thing->n, thing->ns[i]);
	PIPESIM_OBJECT(json, "itself", line, thing->n > 2, put_cells, thing);
	if (PIPESIM_WHERE(json, thing->share > 1))
		PIPESIM_MEMBER(json, "large", YES_OR_NO, TRUE);
	PIPESIM_MEMBER(json, "flops", WIDE, 1e16 * thing->n);
	pipesim_json_close(json);
}

/* The same rows as an object, as a CSV and as names, for which no value is looked at. */
START_TEST(members_are_rows)
{
	static const gint64 ns[] = {1500000, 20};
	const Thing things[] = {{"a,\"b", 2, ns, 0.25}, {"c", 0, NULL, NAN}};
	g_autoptr(GString) out = g_string_new(NULL), names = g_string_new(NULL);
	g_autoptr(PipesimJson) json = pipesim_json_new(out);
	g_autoptr(PipesimJson) keys = pipesim_json_new_names(names, "thing");

	put_thing(json, &things[0]);
	ck_assert_str_eq(out->str,
		"{\n"
		"  \"odd\": [\n"
		"    {\"name\": \"a,\\\"b\", \"n\": 3, \"first_ms\": 1.5, \"share\": 0.25}\n"
		"  ],\n"
		"  \"times_us\": [1500, 0.02],\n"
		"  \"itself\": null,\n"
		"  \"flops\": 2e+16\n"
		"}\n");
	g_string_truncate(out, 0);
	PIPESIM_CSV(out, G_N_ELEMENTS(things), put_cells, &things[i]);
	ck_assert_str_eq(out->str, "name,n,first_ms,share\n\"a,\"\"b\",2,1.5,0.25\nc,1,,\n");
	put_thing(keys, NULL);
	ck_assert_str_eq(names->str, "thing\todd[].name\ttext\nthing\todd[].n\tcount\n"
				     "thing\todd[].first_ms\tms\nthing\todd[].share\tshare\n"
				     "thing\ttimes_us[]\tus\nthing\titself.name\ttext\n"
				     "thing\titself.n\tcount\nthing\titself.first_ms\tms\n"
				     "thing\titself.share\tshare\nthing\tlarge\ttrue or false\n"
				     "thing\tflops\tcount\n");
}
END_TEST

/* Values of the authors' own list of test vectors. */
START_TEST(hash_is_fnv)
{
	ck_assert_uint_eq(pipesim_hash_bytes("", 0), 0x811c9dc5);
	ck_assert_uint_eq(pipesim_hash_bytes("a", 1), 0xe40c292c);
	ck_assert_uint_eq(pipesim_hash_bytes("foobar", 6), 0xbf9cf968);
}
END_TEST

/* INI ------------------------------------------------------------------------------------------
 */

static void check_line(const PipesimIniLine *line, const char *group, const char *key,
	const char *value, guint number, guint column, guint first)
{
	ck_assert_pstr_eq(line->group, group);
	ck_assert_pstr_eq(line->key, key);
	ck_assert_pstr_eq(line->value, value);
	ck_assert_uint_eq(line->line, number);
	ck_assert_uint_eq(key != NULL ? line->value_column : line->column, column);
	ck_assert_uint_eq(line->first_line, first);
}

START_TEST(ini_has_positions)
{
	static const char text[] = "early=1\n# [not]\n; x=1\n\n  [one] \r\n key =\t two = 2 \n"
				   "what\n[two\n[two]\nkey=\n[one]\nkey=3";
	g_autoptr(PipesimIni) ini = pipesim_ini_parse(text, sizeof text - 1, "x", NULL);
	g_autoptr(GError) error = NULL;

	ck_assert_uint_eq(ini->n_lines, 9);
	check_line(&ini->lines[0], NULL, "early", "1", 1, 7, 1);
	check_line(&ini->lines[1], "one", NULL, NULL, 5, 3, 5);
	check_line(&ini->lines[2], "one", "key", "two = 2", 6, 9, 6);
	ck_assert_str_eq(ini->lines[3].junk, "what");
	ck_assert_str_eq(ini->lines[4].junk, "[two");
	check_line(&ini->lines[5], "two", NULL, NULL, 9, 1, 9);
	check_line(&ini->lines[6], "two", "key", "", 10, 5, 10);
	check_line(&ini->lines[7], "one", NULL, NULL, 11, 1, 5);
	check_line(&ini->lines[8], "one", "key", "3", 12, 5, 6);
	ck_assert_ptr_eq(pipesim_ini_find(ini, "one", "key"), &ini->lines[8]);
	ck_assert_ptr_null(pipesim_ini_find(ini, "three", NULL));
	pipesim_ini_fault(ini, 6, 9, "no %s", "2");
	ck_assert(!pipesim_faults_done(ini->faults, &error));
	ck_assert_str_eq(error->message, "x:6:9: no 2");
}
END_TEST

START_TEST(ini_text_survives)
{
	static const char value[] = "\t a b\\s\r\n= ";
	g_autoptr(GString) out = g_string_new("[g]\n");
	g_autoptr(PipesimIni) ini = NULL, bad = NULL;
	g_autofree char *text = NULL;

	pipesim_ini_write_text(out, "k", value);
	ini = pipesim_ini_parse(out->str, out->len, "x", NULL);
	ck_assert_uint_eq(ini->n_lines, 2);
	text = pipesim_ini_text(&ini->lines[1]);
	ck_assert_str_eq(text, value);
	bad = pipesim_ini_parse("a=\\q\nb=\\", 8, "x", NULL);
	ck_assert_ptr_null(pipesim_ini_text(&bad->lines[0]));
	ck_assert_ptr_null(pipesim_ini_text(&bad->lines[1]));
}
END_TEST

START_TEST(ini_is_text)
{
	ck_assert_ptr_null(pipesim_ini_parse("a=\0b", 4, "x", NULL));
	ck_assert_ptr_null(pipesim_ini_parse("a=\xff", 3, "x", NULL));
}
END_TEST

static TCase *inis(void)
{
	TCase *tcase = tcase_create("ini");

	tcase_add_test(tcase, ini_has_positions);
	tcase_add_test(tcase, ini_text_survives);
	tcase_add_test(tcase, ini_is_text);
	return tcase;
}

/* Threads --------------------------------------------------------------------------------- */

#define ITEMS 1000

typedef struct {
	gint ran[ITEMS]; /* atomic, as all here */
	gint begun, ended;
	gboolean scarce; /* only the first thread gets what it needs */
} Items;

static gpointer begin_items(gpointer data, GError **error)
{
	Items *items = data;

	if (g_atomic_int_add(&items->begun, 1) == 0 || !items->scarce)
		return items;
	g_atomic_int_add(&items->begun, -1);
	pipesim_fail(error, PIPESIM_ERROR_LIMIT, "no more");
	return NULL;
}

static void end_items(gpointer own)
{
	Items *items = own;

	g_atomic_int_inc(&items->ended);
}

static gboolean run_item(gsize item, gpointer own, gpointer data, GError **error)
{
	Items *items = data;

	ck_assert_ptr_eq(own, data);
	g_atomic_int_inc(&items->ran[item]);
	return item < 300 || item % 100 > 1 ||
	       pipesim_fail(error, PIPESIM_ERROR_LIMIT, "item %u", (guint)item);
}

/* The first that fails is told, whatever the threads: none before it is left out. */
START_TEST(first_failure_is_told)
{
	g_autoptr(GError) error = NULL;
	Items items = {.scarce = _i % 2 == 1};
	const PipesimParallel work = {
		ITEMS, (guint)_i, run_item, begin_items, end_items, &items};

	ck_assert(!pipesim_parallel(&work, &error));
	ck_assert_str_eq(error->message, "item 300");
	for (guint i = 0; i < ITEMS; i++)
		ck_assert_msg(items.ran[i] == 1 || (i > 300 && items.ran[i] == 0), "%u: %d", i,
			items.ran[i]);
	ck_assert_int_eq(items.begun, items.ended);
}
END_TEST

START_TEST(every_item_runs_once)
{
	Items items = {.scarce = _i % 2 == 1};
	const PipesimParallel work = {300, (guint)_i, run_item, begin_items, end_items, &items};
	const PipesimParallel nothing = {.threads = (guint)_i, .run = run_item};

	ck_assert(pipesim_parallel(&work, NULL));
	for (guint i = 0; i < ITEMS; i++)
		ck_assert_int_eq(items.ran[i], i < 300);
	ck_assert_int_eq(items.begun, items.ended);
	ck_assert(pipesim_parallel(&nothing, NULL));
}
END_TEST

static TCase *numbers(void)
{
	TCase *tcase = tcase_create("numbers");

	tcase_add_loop_test(tcase, count_is_decimal, 0, G_N_ELEMENTS(counts));
	tcase_add_loop_test(tcase, count_refused, 0, G_N_ELEMENTS(bad_counts));
	tcase_add_test(tcase, count_range);
	tcase_add_loop_test(tcase, time_is_exact, 0, G_N_ELEMENTS(good_times));
	tcase_add_loop_test(tcase, time_refused, 0, G_N_ELEMENTS(bad_times));
	tcase_add_loop_test(tcase, bytes_are_exact, 0, G_N_ELEMENTS(good_bytes));
	tcase_add_loop_test(tcase, bytes_refused, 0, G_N_ELEMENTS(bad_bytes));
	tcase_add_test(tcase, bandwidth_in_bytes_or_bits);
	tcase_add_test(tcase, fraction_is_exact);
	tcase_add_loop_test(tcase, ms_shortest, 0, G_N_ELEMENTS(printed));
	tcase_add_loop_test(tcase, ms_fixed, 0, G_N_ELEMENTS(fixed));
	tcase_add_test(tcase, doubles_are_shortest);
	tcase_add_test(tcase, bytes_are_readable);
	tcase_add_test(tcase, scaling_is_exact);
	tcase_add_test(tcase, hash_is_fnv);
	return tcase;
}

Suite *base_values_suite(void)
{
	Suite *suite = suite_create("base-values");
	TCase *errors = tcase_create("errors");
	TCase *json = tcase_create("json");
	TCase *threads = tcase_create("threads");

	tcase_add_loop_test(threads, first_failure_is_told, 0, 6);
	tcase_add_loop_test(threads, every_item_runs_once, 0, 6);
	suite_add_tcase(suite, threads);
	tcase_add_test(errors, error_has_location);
	tcase_add_test(errors, faults_are_collected);
	tcase_add_test(json, json_is_escaped);
	tcase_add_test(json, members_are_rows);
	tcase_add_test(json, json_keeps_order);
	suite_add_tcase(suite, numbers());
	suite_add_tcase(suite, inis());
	suite_add_tcase(suite, errors);
	suite_add_tcase(suite, json);
	return suite;
}
