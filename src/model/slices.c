#include "config.h"

#include "model/slices.h"
#include <math.h>
#include <string.h>

gboolean pipesim_slicing_parse_cost(
	PipesimSlicing *slicing, const char *text, const char *what, GError **error)
{
	static const char *const names[] = {"c", "gamma", "b", "a"};
	double *const values[] = {
		&slicing->launch, &slicing->prefix, &slicing->linear, &slicing->attention};
	g_auto(GStrv) items = g_strsplit(text, ",", -1);

	for (char **item = items; *item != NULL; item++) {
		char *value = strchr(*item, '='), *end = NULL;
		guint i = 0;

		if (value != NULL)
			*value++ = '\0';
		while (i < G_N_ELEMENTS(names) && strcmp(g_strstrip(*item), names[i]) != 0)
			i++;
		if (value == NULL || i == G_N_ELEMENTS(names))
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"%s: '%s' is none of c, gamma, b and a; write "
				"c=0.1,b=1,a=0.001",
				what, *item);
		*values[i] = g_ascii_strtod(value, &end);
		if (end == value || *end != '\0' || !(*values[i] >= 0 && *values[i] <= 1e18))
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"%s: '%s' of %s is not a number from 0 to 1e18", what, value,
				names[i]);
	}
	slicing->has_cost = TRUE;
	return slicing->linear > 0 || slicing->attention > 0 ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "%s: b or a must be above 0: else slices take no time for their tokens",
		       what);
}

gboolean pipesim_slicing_parse_lengths(
	PipesimSlicing *slicing, const char *text, const char *what, GError **error)
{
	g_auto(GStrv) items = NULL;
	guint64 sum = 0;

	slicing->how = strcmp(text, "work") == 0 ? PIPESIM_SLICES_WORK : PIPESIM_SLICES_EVEN;
	if (strcmp(text, "even") == 0 || strcmp(text, "work") == 0)
		return TRUE;
	slicing->how = PIPESIM_SLICES_LIST;
	items = g_strsplit(text, ",", -1);
	slicing->n = g_strv_length(items);
	if (slicing->n > PIPESIM_MAX_SLICES)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE, "%s: %u slices; at most %u",
			what, slicing->n, PIPESIM_MAX_SLICES);
	for (guint i = 0; i < slicing->n; i++) {
		guint64 tokens;

		if (!pipesim_parse_count(
			    g_strstrip(items[i]), what, 1, G_MAXINT32, &tokens, error)) {
			g_prefix_error_literal(error, "even, work or tokens of each slice: ");
			return FALSE;
		}
		slicing->length[i] = (guint32)tokens;
		sum += tokens;
	}
	slicing->tokens = (guint)sum;
	return sum <= G_MAXUINT32 || pipesim_fail(error, PIPESIM_ERROR_USAGE,
					     "%s: more than %u tokens", what, G_MAXUINT32);
}

static gboolean fill_work(
	const PipesimSlicing *slicing, guint n, double *lengths, GError **error)
{
	const double a = slicing->attention, all = slicing->tokens;
	const double b = slicing->has_cost ? slicing->linear : 1;
	const double each = (b * all + a * all * all) / n, step = MAX(slicing->step, 1u);
	double left = all;

	for (guint i = n; i-- > 1; left -= lengths[i]) {
		/* b x + a (left^2 - (left - x)^2) = each */
		const double whole = b + 2 * a * left;
		const double root = sqrt(MAX(whole * whole - 4 * a * each, 0));
		const double x = 2 * each / (whole + root);

		lengths[i] = floor(x / step + 1e-9) * step;
		if (lengths[i] < step)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"%u slices of equal work of %u tokens leave slice %u without a "
				"token; take fewer slices",
				n, slicing->tokens, i);
	}
	lengths[0] = left;
	return TRUE;
}

gboolean pipesim_slicing_lengths(
	const PipesimSlicing *slicing, guint n, double *lengths, GError **error)
{
	if (slicing->how == PIPESIM_SLICES_WORK)
		return fill_work(slicing, n, lengths, error);
	if (slicing->how == PIPESIM_SLICES_LIST && slicing->n != n)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--slice-lengths has %u lengths, but a sequence has %u slices; "
			"nearest: "
			"--slices %u",
			slicing->n, n, slicing->n);
	for (guint i = 0; i < n; i++)
		lengths[i] = slicing->how == PIPESIM_SLICES_LIST ? slicing->length[i]
								 : (double)slicing->tokens / n;
	return TRUE;
}

gboolean pipesim_slicing_shares(
	const PipesimSlicing *slicing, guint n, double *shares, GError **error)
{
	const double c = slicing->launch, gamma = slicing->prefix, all = slicing->tokens;
	const double a = slicing->attention, b = slicing->has_cost ? slicing->linear : 1;
	const double whole = c + b * all + a * all * all;
	double prefix = 0;

	if (!pipesim_slicing_lengths(slicing, n, shares, error))
		return FALSE;
	for (guint i = 0; i < n; i++) {
		const double x = shares[i];

		shares[i] = (c + gamma * prefix + b * x + a * (2 * prefix * x + x * x)) / whole;
		prefix += x;
	}
	return TRUE;
}
