#include "base/base.h"

static void pipesim_error_private_init(PipesimErrorPrivate *priv)
{
	*priv = (PipesimErrorPrivate){0};
}

static void pipesim_error_private_copy(const PipesimErrorPrivate *from, PipesimErrorPrivate *to)
{
	*to = *from;
	to->path = g_strdup(from->path);
}

static void pipesim_error_private_clear(PipesimErrorPrivate *priv)
{
	g_free(priv->path);
}

G_DEFINE_EXTENDED_ERROR(PipesimError, pipesim_error)

char *pipesim_shell_word(const char *text)
{
	static const char safe[] = "%+,-./:=@_" G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS;

	return *text != '\0' && text[strspn(text, safe)] == '\0' ? g_strdup(text)
								 : g_shell_quote(text);
}

char *pipesim_printable(const char *text)
{
	GString *out = g_string_sized_new(strlen(text));
	const char *p = text;

	while (*p != '\0') {
		const gunichar c = g_utf8_get_char_validated(p, -1);
		const gboolean whole = c != (gunichar)-1 && c != (gunichar)-2;
		const char *next = whole ? g_utf8_next_char(p) : p + 1;

		if (whole && (g_unichar_isprint(c) || c == '\n' || c == '\t'))
			g_string_append_len(out, p, next - p);
		else
			for (; p < next; p++)
				g_string_append_printf(out, "\\x%02x", (guint)(guchar)*p);
		p = next;
	}
	return g_string_free(out, FALSE);
}

/* What messages quote is of files. */
GError *pipesim_error_new(PipesimErrorCode code, const char *path, guint line, guint column,
	const char *format, va_list args)
{
	g_autofree char *message = g_strdup_vprintf(format, args);
	g_autofree char *printable = pipesim_printable(message);
	GError *error = g_error_new_literal(PIPESIM_ERROR, code, printable);

	if (path != NULL)
		pipesim_error_locate(error, path, line, column);
	return error;
}

void pipesim_list_more(GString *list, const char *format, ...)
{
	va_list args;

	g_string_append(list, list->len > 0 ? ", " : "");
	va_start(args, format);
	g_string_append_vprintf(list, format, args);
	va_end(args);
}

void pipesim_lines_say(GPtrArray *lines, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_ptr_array_add(lines, g_strdup_vprintf(format, args));
	va_end(args);
}

gboolean pipesim_fail_with(GError **error, PipesimErrorCode code, const char *path, guint line,
	guint column, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (error != NULL)
		*error = pipesim_error_new(code, path, line, column, format, args);
	va_end(args);
	return FALSE;
}

void pipesim_error_locate(GError *error, const char *path, guint line, guint column)
{
	PipesimErrorPrivate *priv = pipesim_error_get_private(error);
	g_autofree char *shown = pipesim_printable(path);
	char *message = g_strdup_printf("%s:%u:%u: %s", shown, line, column, error->message);

	g_free(error->message);
	error->message = message;
	g_free(priv->path);
	*priv = (PipesimErrorPrivate){g_strdup(path), line, column};
}

const PipesimErrorPrivate *pipesim_error_location(const GError *error)
{
	return pipesim_error_get_private(error);
}

PipesimFaults *pipesim_faults_new(void)
{
	PipesimFaults *faults = g_new0(PipesimFaults, 1);

	faults->errors = g_ptr_array_new_with_free_func((GDestroyNotify)g_error_free);
	return faults;
}

PIPESIM_FREES(PipesimFaults, pipesim_faults_free, faults)
{
	g_ptr_array_unref(faults->errors);
	g_free(faults);
}

void pipesim_faults_take(PipesimFaults *faults, GError *error)
{
	faults->total++;
	if (faults->errors->len < PIPESIM_MAX_FAULTS)
		g_ptr_array_add(faults->errors, error);
	else
		g_error_free(error);
}

void pipesim_faults_add(PipesimFaults *faults, const char *path, guint line, guint column,
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	pipesim_faults_take(faults,
		pipesim_error_new(PIPESIM_ERROR_PARSE, path, line, column, format, args));
	va_end(args);
}

gboolean pipesim_faults_done(const PipesimFaults *faults, GError **error)
{
	g_autoptr(GString) message = NULL;

	if (faults->total == 0)
		return TRUE;
	if (error == NULL)
		return FALSE;
	const GError *first = g_ptr_array_index(faults->errors, 0);
	message = g_string_new(first->message);
	for (guint i = 1; i < faults->errors->len; i++)
		g_string_append_printf(message, "\n%s",
			((const GError *)g_ptr_array_index(faults->errors, i))->message);
	if (faults->total > faults->errors->len)
		g_string_append_printf(
			message, "\nand %u more", faults->total - faults->errors->len);
	*error = g_error_copy(first);
	g_free((*error)->message);
	(*error)->message = g_string_free(g_steal_pointer(&message), FALSE);
	return FALSE;
}
