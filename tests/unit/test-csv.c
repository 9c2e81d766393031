#include "base/csv.h"
#include "base/decimal.h"
#include "base/json-read.h"
#include "suites.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>

static PipesimCsv *open_text(const char *text)
{
	return pipesim_csv_new(pipesim_input_new_memory("x.csv", text, strlen(text)));
}

/* Records as "line:[column text]...;" and faults as "!message;". */
static char *print_all(PipesimCsv *csv)
{
	GString *out = g_string_new(NULL);

	for (;;) {
		g_autoptr(GError) error = NULL;
		const PipesimCsvRecord *record = pipesim_csv_next(csv, &error);
		if (record == NULL && error == NULL)
			return g_string_free(out, FALSE);
		if (record == NULL) {
			g_string_append_printf(out, "!%s;", error->message);
			continue;
		}
		g_string_append_printf(out, "%u%s:", record->line, record->ended ? "" : "~");
		for (guint i = 0; i < record->n_cells; i++)
			g_string_append_printf(out, "[%u%s %s]", record->cells[i].column,
				record->cells[i].quoted ? "q" : "", record->cells[i].text);
		g_string_append_c(out, ';');
	}
}

static const struct {
	const char *text, *records;
} files[] = {
	{"", ""},
	{"\n", "1:;"},
	{"a,b\n\nc,d\n", "1:[1 a][3 b];2:;3:[1 c][3 d];"},
	{"a,b\r\n\r\nc,d\r\n", "1:[1 a][3 b];2:;3:[1 c][3 d];"},
	{"\xef\xbb\xbf"
	 "a,b\n",
		"1:[1 a][3 b];"},
	{"a", "1~:[1 a];"},
	{"a,\n,b\n,\n", "1:[1 a][3 ];2:[1 ][2 b];3:[1 ][2 ];"},
	{"  a ,  b\n", "1:[3 a][8 b];"},
	{"   \n", "1:[4 ];"},
	{"\"a,b\", \"c\"\"d\"\n", "1:[2q a,b][9q c\"d];"},
	{"a,\"open\nb\n",
		"!x.csv:1:3: the quote of this cell is not closed on its line;2:[1 b];"},
	{"a\rb\nc\n", "!x.csv:1:2: a carriage return inside a line; lines must end with LF or "
		      "CRLF;2:[1 c];"},
	{"a\xff\nc\n", "!x.csv:1:2: bytes that are not UTF-8; save the file as UTF-8;2:[1 c];"},
	{"a\"b\nc\n", "!x.csv:1:2: a quote where none may stand; quote the whole cell and "
		      "double the quotes "
		      "in it;2:[1 c];"},
};

START_TEST(records_keep_their_places)
{
	g_autoptr(PipesimCsv) csv = open_text(files[_i].text);
	g_autofree char *records = print_all(csv);

	ck_assert_str_eq(records, files[_i].records);
}
END_TEST

START_TEST(nul_is_refused)
{
	g_autoptr(PipesimCsv) csv =
		pipesim_csv_new(pipesim_input_new_memory("x.csv", "a,\0b\nc\n", 7));
	g_autofree char *records = print_all(csv);

	ck_assert_str_eq(records, "!x.csv:1:3: a NUL byte; the file must be text;2:[1 c];");
}
END_TEST

/* Packed files -------------------------------------------------------------------------------
 */

/* @text as gzip, in one member. */
static GBytes *pack(const char *text, gsize length)
{
	g_autoptr(GZlibCompressor) zip =
		g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, -1);
	g_autoptr(GOutputStream) memory = g_memory_output_stream_new_resizable();
	g_autoptr(GOutputStream) stream =
		g_converter_output_stream_new(memory, G_CONVERTER(zip));

	ck_assert(g_output_stream_write_all(stream, text, length, NULL, NULL, NULL));
	ck_assert(g_output_stream_close(stream, NULL, NULL));
	return g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(memory));
}

/* Writes @length bytes to a new file; its path. */
static char *write_temporary(gconstpointer data, gsize length)
{
	char *path = NULL;
	const int fd = g_file_open_tmp("pipesim-XXXXXX", &path, NULL);

	ck_assert_int_ge(fd, 0);
	g_close(fd, NULL);
	ck_assert(g_file_set_contents(path, data, (gssize)length, NULL));
	return path;
}

static char *long_text(void)
{
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < 200000; i++)
		g_string_append_printf(text, "%u,%u\n", i, i * 7919);
	return g_string_free(text, FALSE);
}

static guint count_records(const char *path, GError **error)
{
	g_autoptr(PipesimCsv) csv = pipesim_csv_open(path, error);
	guint n = 0;

	while (csv != NULL && pipesim_csv_next(csv, error) != NULL)
		n++;
	return n;
}

START_TEST(packed_files_are_unpacked)
{
	g_autofree char *text = long_text();
	g_autoptr(GBytes) once = pack(text, strlen(text));
	g_autoptr(GByteArray) twice = g_byte_array_new();
	g_autoptr(GError) error = NULL;

	/* Two members in one file are one text. */
	for (guint i = 0; i < 2; i++)
		g_byte_array_append(
			twice, g_bytes_get_data(once, NULL), (guint)g_bytes_get_size(once));
	g_autofree char *path = write_temporary(twice->data, twice->len);
	ck_assert_uint_eq(count_records(path, &error), 400000);
	ck_assert_ptr_null(error);
	g_unlink(path);
}
END_TEST

START_TEST(damaged_packed_files_are_refused)
{
	g_autofree char *text = long_text();
	g_autoptr(GBytes) packed = pack(text, strlen(text));
	g_autofree char *bytes =
		g_memdup2(g_bytes_get_data(packed, NULL), g_bytes_get_size(packed));
	const gsize length = g_bytes_get_size(packed);
	g_autoptr(GError) error = NULL;
	g_autofree char *cut = write_temporary(bytes, length / 2);

	count_records(cut, &error);
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_ptr_nonnull(strstr(error->message, "truncated"));
	g_clear_error(&error);
	memset(bytes + length / 2, 0x55, 64);
	g_autofree char *damaged = write_temporary(bytes, length);
	count_records(damaged, &error);
	ck_assert_ptr_nonnull(error);
	g_unlink(cut);
	g_unlink(damaged);
}
END_TEST

START_TEST(absent_files_and_folders_are_refused)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(pipesim_csv_open("/nowhere/at/all", &error));
	ck_assert(g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT));
	g_clear_error(&error);
	ck_assert_ptr_null(pipesim_csv_open("/", &error));
	ck_assert(g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_ISDIR));
}
END_TEST

/* Decimals -----------------------------------------------------------------------------------
 */

static const struct {
	const char *text;
	guint decimals;
	gint64 value;
	const char *why;
} decimals[] = {
	{"0", 0, 0, NULL},
	{"1740461679470813", 3, G_GINT64_CONSTANT(1740461679470813000), NULL},
	{"4342411376732.502", 3, G_GINT64_CONSTANT(4342411376732502), NULL},
	{"0.0005", 3, 1, NULL},
	{"0.00049", 3, 0, NULL},
	{"-1.5", 0, -2, NULL},
	{"1.5e3", 0, 1500, NULL},
	{"15e-1", 3, 1500, NULL},
	{"9223372036854775807", 0, G_MAXINT64, NULL},
	{"9223372036854775808", 0, 0, "out of range"},
	{"1e400", 0, 0, "out of range"},
	{"0e99999", 0, 0, NULL},
	{"1e-99999", 0, 0, NULL},
	{"", 0, 0, "not a number"},
	{"-", 0, 0, "not a number"},
	{".", 0, 0, "not a number"},
	{"nan", 0, 0, "not a number"},
	{"inf", 0, 0, "not a number"},
	{"1x", 0, 0, "not a number"},
	{"0x10", 0, 0, "not a number"},
	{"1e", 0, 0, "not a number"},
};

START_TEST(decimals_are_exact)
{
	gint64 value = 0;
	const char *why = pipesim_decimal_parse(
		decimals[_i].text, strlen(decimals[_i].text), decimals[_i].decimals, &value);

	if (decimals[_i].why != NULL) {
		ck_assert_str_eq(why, decimals[_i].why);
	} else {
		ck_assert_ptr_null(why);
		ck_assert_int_eq(value, decimals[_i].value);
	}
}
END_TEST

/* JSON ---------------------------------------------------------------------------------------
 */

/* Tokens as one letter each, texts in brackets. */
static char *print_tokens(const char *text)
{
	static const char letters[] = ".{}[]ksnl!";
	g_autoptr(PipesimJsonReader) reader =
		pipesim_json_reader_new(pipesim_input_new_memory("x.json", text, strlen(text)));
	g_autoptr(GError) error = NULL;
	GString *out = g_string_new(NULL);
	PipesimJsonToken token;

	do {
		token = pipesim_json_next(reader, &error);
		g_string_append_c(out, letters[token]);
		if (token >= PIPESIM_JSON_KEY && token <= PIPESIM_JSON_LITERAL)
			g_string_append_printf(out, "(%s)", pipesim_json_text(reader));
	} while (token != PIPESIM_JSON_END && token != PIPESIM_JSON_ERROR);
	if (error != NULL)
		g_string_append(out, error->message);
	if (pipesim_json_truncated(reader) && error == NULL)
		g_string_append(out, "truncated");
	return g_string_free(out, FALSE);
}

static const struct {
	const char *text, *tokens;
} documents[] = {
	{"{}", "{}."},
	{" [ ] ", "[]."},
	{"[1,\"a\",true,null,-2.5e3]", "[n(1)s(a)l(true)l(null)n(-2.5e3)]."},
	{"{\"a\" : {\"b\":[{}]}, \"c\":\"\"}", "{k(a){k(b)[{}]}k(c)s()}."},
	{"\"a\\\"b\\\\\\u0041\\n\"", "s(a\"b\\A\n)."},
	{"[{\"ts\": 12", "[{k(ts).truncated"},
	{"[{\"ts\": \"12", "[{k(ts).truncated"},
	{"[1,", "[n(1).truncated"},
	{"", ".truncated"},
	{"{\n  \"a\" 1}", "{k(a)!x.json:2:7: not JSON: a colon is expected here"},
	{"[1 2]", "[n(1)!x.json:1:4: not JSON: a comma or a closing bracket is expected here"},
	{"[}", "[!x.json:1:2: not JSON: a bracket closes nothing here"},
	{"{1:2}", "{!x.json:1:2: not JSON: a key in quotes is expected here"},
	{"[abc]", "[!x.json:1:2: not JSON: a value is expected here"},
	{"[1,]", "[n(1)!x.json:1:4: not JSON: a bracket closes nothing here"},
};

START_TEST(json_is_read_as_tokens)
{
	g_autofree char *tokens = print_tokens(documents[_i].text);

	ck_assert_str_eq(tokens, documents[_i].tokens);
}
END_TEST

START_TEST(json_depth_is_limited)
{
	g_autofree char *deep = g_strnfill(100000, '[');
	g_autofree char *tokens = print_tokens(deep);

	ck_assert_ptr_nonnull(strstr(tokens, "nested deeper than 64 levels"));
}
END_TEST

Suite *csv_suite(void)
{
	Suite *suite = suite_create("csv");
	TCase *csv = tcase_create("csv");
	TCase *packed = tcase_create("packed");
	TCase *json = tcase_create("json");

	tcase_add_loop_test(csv, records_keep_their_places, 0, G_N_ELEMENTS(files));
	tcase_add_test(csv, nul_is_refused);
	tcase_add_loop_test(csv, decimals_are_exact, 0, G_N_ELEMENTS(decimals));
	tcase_add_test(csv, absent_files_and_folders_are_refused);
	tcase_add_test(packed, packed_files_are_unpacked);
	tcase_add_test(packed, damaged_packed_files_are_refused);
	tcase_add_loop_test(json, json_is_read_as_tokens, 0, G_N_ELEMENTS(documents));
	tcase_add_test(json, json_depth_is_limited);
	suite_add_tcase(suite, csv);
	suite_add_tcase(suite, packed);
	suite_add_tcase(suite, json);
	return suite;
}
