/* What reads files: bytes (packed or not), lines of cells, decimals, JSON. */
#include "base/csv.h"
#include "base/decimal.h"
#include "base/json-read.h"
#include "suites.h"
#include <glib/gstdio.h>
#include <zlib.h>

/* Cells ---------------------------------------------------------------------------------------
 */

/* Every cell as line:column=text, faults as line:column!, and . for the end of each line. */
static char *read_cells(const char *text, gsize length)
{
	g_autoptr(PipesimCsv) csv =
		pipesim_csv_new(pipesim_input_new_memory("x", text, length));
	GString *out = g_string_new(NULL);

	for (;;) {
		g_autoptr(GError) error = NULL;
		const PipesimCsvRecord *record = pipesim_csv_next(csv, TRUE, &error);

		if (error != NULL) {
			const PipesimErrorPrivate *at = pipesim_error_location(error);

			g_string_append_printf(out, "%u:%u! ", at->line, at->column);
			continue;
		}
		if (record == NULL)
			return g_string_free(out, FALSE);
		for (guint i = 0; i < record->n_cells; i++)
			g_string_append_printf(out, "%u:%u=%.*s ", record->line,
				record->cells[i].column, (int)record->cells[i].length,
				record->cells[i].text);
		g_string_append(out, ". ");
	}
}

static const struct {
	const char *text, *cells;
} files[] = {
	{"", ""},
	{"a,b\n", "1:1=a 1:3=b . "},
	{"a,b", "1:1=a 1:3=b . "},
	{"a\r\nb\r\n", "1:1=a . 2:1=b . "},
	{"a\n\nb\n", "1:1=a . . 3:1=b . "},
	{"\n", ". "},
	{"\r\n\r\n", ". . "},
	{"a,,b\n", "1:1=a 1:3= 1:4=b . "},
	{"  a , b\n", "1:3=a 1:7=b . "},
	{" \t \n", "1:4= . "},
	{" ,a,\n", "1:2= 1:3=a 1:5= . "},
	{"1234567,9,b c ,\t,,18\n", "1:1=1234567 1:9=9 1:11=b c 1:17= 1:18= 1:19=18 . "},
	{"12345678,\xc3\xa4,ab\n", "1:1=12345678 1:10=\xc3\xa4 1:13=ab . "},
	{"\"a,b\",c\n", "1:2=a,b 1:7=c . "},
	{"\"a\"\"b\"\n", "1:2=a\"b . "},
	{"\"\"\"\",\" , \"\t, c ,\"\" \n", "1:2=\" 1:7= ,  1:14=c 1:18= . "},
	{"\"a\",\n", "1:2=a 1:5= . "},
	{"\"a\"b\nc\n", "1:4! 2:1=c . "},
	{"\"a\" \"b\"\n", "1:5! "},
	{"ab\"c\n", "1:3! "},
	{"a, \"b,c\nd\n", "1:3! 2:1=d . "},
	{"\xef\xbb\xbf"
	 "a\n",
		"1:1=a . "},
	{"a\rb\nc\n", "1:2! 2:1=c . "},
	{"\"a\nb\n", "1:1! 2:1=b . "},
	{"a\n\xff\nc\n", "1:1=a . 2:1! 3:1=c . "},
};

START_TEST(cells_have_places)
{
	g_autofree char *cells = read_cells(files[_i].text, strlen(files[_i].text));

	ck_assert_str_eq(cells, files[_i].cells);
}
END_TEST

START_TEST(nul_has_a_place)
{
	g_autofree char *cells = read_cells("a,b\nc,d\0e\nf\n", 12);

	ck_assert_str_eq(cells, "1:1=a 1:3=b . 2:4! 3:1=f . ");
}
END_TEST

/* Decimals ------------------------------------------------------------------------------------
 */

static const struct {
	const char *text;
	guint decimals;
	gint64 value;
} decimals[] = {
	{"0", 0, 0},
	{"12", 3, 12000},
	{"1.5", 0, 2},
	{"-1.5", 0, -2},
	{"1.4999999999999999999999", 0, 1},
	{"0.0005", 3, 1},
	{"0.00049", 3, 0},
	{"+7e3", 0, 7000},
	{"7E-3", 3, 7},
	{"1714061935184373.125", 3, G_GINT64_CONSTANT(1714061935184373125)},
	{"9223372036854775807", 0, G_MAXINT64},
	{"0e999999", 0, 0},
	{"-2.5", 0, -3},
	{"12345678901234567890123e-20", 3, 123457},
	{"0.000000000000000000000000000001", 18, 0},
};

START_TEST(decimal_is_exact)
{
	gint64 value = -7;

	ck_assert_ptr_null(pipesim_decimal_parse(
		decimals[_i].text, strlen(decimals[_i].text), decimals[_i].decimals, &value));
	ck_assert_int_eq(value, decimals[_i].value);
}
END_TEST

static const struct {
	const char *text, *why;
} bad_decimals[] = {{"", "not a number"}, {".", "not a number"}, {"-", "not a number"},
	{"1x", "not a number"}, {"1 ", "not a number"}, {"nan", "not a number"},
	{"inf", "not a number"}, {"0x1", "not a number"}, {"1e", "not a number"},
	{"9223372036854775808", "out of range"}, {"1e19", "out of range"},
	{"1e999999999999", "out of range"}};

START_TEST(decimal_refused)
{
	gint64 value = -7;
	const char *why = pipesim_decimal_parse(
		bad_decimals[_i].text, strlen(bad_decimals[_i].text), 0, &value);

	ck_assert_msg(why != NULL, "'%s' gave %" G_GINT64_FORMAT, bad_decimals[_i].text, value);
	ck_assert_str_eq(why, bad_decimals[_i].why);
}
END_TEST

/* JSON ----------------------------------------------------------------------------------------
 */

/* One letter a token; keys and strings with their text. */
static char *read_tokens(const char *text)
{
	g_autoptr(PipesimJsonReader) reader =
		pipesim_json_reader_new(pipesim_input_new_memory("x", text, strlen(text)));
	GString *out = g_string_new(NULL);

	for (;;) {
		g_autoptr(GError) error = NULL;
		const PipesimJsonToken token = pipesim_json_next(reader, &error);

		ck_assert((token == PIPESIM_JSON_ERROR) == (error != NULL));
		g_string_append_c(out, "E{}[]ksnl!"[token]);
		if (token == PIPESIM_JSON_KEY || token == PIPESIM_JSON_STRING)
			g_string_append(out, pipesim_json_text(reader));
		if (error != NULL && pipesim_error_location(error) != NULL)
			g_string_append_printf(
				out, "%u", pipesim_error_location(error)->column);
		if (token == PIPESIM_JSON_END || token == PIPESIM_JSON_ERROR) {
			if (pipesim_json_truncated(reader))
				g_string_append_c(out, '~');
			return g_string_free(out, FALSE);
		}
	}
}

static const struct {
	const char *text, *tokens;
} documents[] = {
	{"{}", "{}E"},
	{" [1, -2.5e3, true, null] ", "[nnll]E"},
	{"{\"a\": {\"b\": [\"c\\n\\u0041\"]}}", "{ka{kb[sc\nA]}}E"},
	{"{\"a\": [1, 2", "{ka[nE~"},
	{"{\"a\"", "{kaE~"},
	{"[nan, -nan, inf, -inf, NaN, -Infinity]", "[nnnnnn]E"},
};

START_TEST(json_tokens)
{
	g_autofree char *tokens = read_tokens(documents[_i].text);

	ck_assert_str_eq(tokens, documents[_i].tokens);
}
END_TEST

static const char *const bad_documents[] = {"{a: 1}", "[1 2]", "{\"a\" 1}", "[1,]", "{\"a\": }",
	"]", "[}", "[tru]", "['a']", "[1,,2]", "{,}", "[na]", "{} {}", "[1]]", "1 x"};

START_TEST(json_refused)
{
	g_autofree char *tokens = read_tokens(bad_documents[_i]);

	ck_assert_msg(strchr(tokens, '!') != NULL, "'%s' gave %s", bad_documents[_i], tokens);
}
END_TEST

START_TEST(json_depth_is_bounded)
{
	g_autofree char *text = g_strnfill(1000000, '[');
	g_autofree char *tokens = read_tokens(text);

	ck_assert(strchr(tokens, '!') != NULL || strchr(tokens, '~') != NULL);
}
END_TEST

/* Packed files --------------------------------------------------------------------------------
 */

static char *pack(const char *text, gsize *length)
{
	z_stream packer = {.next_in = (Bytef *)text, .avail_in = (uInt)strlen(text)};
	char *packed;

	ck_assert_int_eq(
		deflateInit2(&packer, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
		Z_OK);
	packer.avail_out = (uInt)deflateBound(&packer, packer.avail_in);
	packed = g_malloc(packer.avail_out);
	packer.next_out = (Bytef *)packed;
	ck_assert_int_eq(deflate(&packer, Z_FINISH), Z_STREAM_END);
	*length = packer.total_out;
	deflateEnd(&packer);
	return packed;
}

static char *read_file(const char *path, GError **error)
{
	g_autoptr(PipesimInput) input = pipesim_input_open(path, error);
	const char *data;
	gsize length;

	if (input == NULL || !pipesim_input_peek(input, 1 << 20, &data, &length, error))
		return NULL;
	return g_strndup(data, length);
}

START_TEST(packed_is_unpacked)
{
	g_autofree char *folder = g_dir_make_tmp("pipesim-XXXXXX", NULL);
	g_autofree char *path = g_build_filename(folder, "packed", NULL);
	g_autofree char *text = g_strnfill(100000, 'x');
	gsize length;
	g_autofree char *packed = pack(text, &length);
	g_autofree char *whole = NULL, *part = NULL;
	g_autoptr(GError) error = NULL;

	ck_assert(g_file_set_contents(path, packed, (gssize)length, NULL));
	whole = read_file(path, &error);
	ck_assert_msg(whole != NULL, "%s", error != NULL ? error->message : "");
	ck_assert_str_eq(whole, text);
	ck_assert(g_file_set_contents(path, packed, (gssize)length / 2, NULL));
	part = read_file(path, &error);
	ck_assert_ptr_null(part);
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_str_eq(
		strrchr(error->message, ':'), ": the gzip file is truncated; copy it again");
	g_clear_error(&error);

	/* Two members are one file; what follows them otherwise is not. */
	g_autofree char *twice = g_malloc(2 * length);
	memcpy(twice, packed, length);
	memcpy(twice + length, packed, length);
	ck_assert(g_file_set_contents(path, twice, 2 * (gssize)length, NULL));
	g_autofree char *both = read_file(path, &error);
	ck_assert_ptr_null(error);
	ck_assert_uint_eq(strlen(both), 200000);
	twice[length] = 'x';
	ck_assert(g_file_set_contents(path, twice, 2 * (gssize)length, NULL));
	g_autofree char *damaged = read_file(path, &error);
	ck_assert_ptr_null(damaged);
	ck_assert_str_eq(
		strrchr(error->message, ':'), ": the gzip file is damaged; copy it again");
	g_unlink(path);
	g_rmdir(folder);
}
END_TEST

START_TEST(absent_file)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(pipesim_input_open("no/such/file", &error));
	ck_assert_int_eq(error->domain, G_FILE_ERROR);
	ck_assert(g_str_has_prefix(error->message, "no/such/file"));
}
END_TEST

Suite *base_reading_suite(void)
{
	Suite *suite = suite_create("base-reading");
	TCase *cells = tcase_create("cells");
	TCase *numbers = tcase_create("decimals");
	TCase *json = tcase_create("json");
	TCase *bytes = tcase_create("bytes");

	tcase_add_loop_test(cells, cells_have_places, 0, G_N_ELEMENTS(files));
	tcase_add_test(cells, nul_has_a_place);
	tcase_add_loop_test(numbers, decimal_is_exact, 0, G_N_ELEMENTS(decimals));
	tcase_add_loop_test(numbers, decimal_refused, 0, G_N_ELEMENTS(bad_decimals));
	tcase_add_loop_test(json, json_tokens, 0, G_N_ELEMENTS(documents));
	tcase_add_loop_test(json, json_refused, 0, G_N_ELEMENTS(bad_documents));
	tcase_add_test(json, json_depth_is_bounded);
	tcase_add_test(bytes, packed_is_unpacked);
	tcase_add_test(bytes, absent_file);
	suite_add_tcase(suite, cells);
	suite_add_tcase(suite, numbers);
	suite_add_tcase(suite, json);
	suite_add_tcase(suite, bytes);
	return suite;
}
