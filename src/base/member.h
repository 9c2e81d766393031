/* Members of objects: what is written of a thing, each member once, as a row of a function:
 *
 *	static void put_loss(PipesimJson *json, const Losses *losses, guint index)
 *	{
 *		PIPESIM_MEMBER(json, "rank", COUNT, losses->loss[index].rank);
 *		PIPESIM_LIST(json, "idle_ms", TIME, losses->ranks, losses->idle[i]);
 *	}
 *
 * The same rows are an object of JSON, the titles and a line of a CSV, or the keys with their
 * kinds alone, by what @json is (json.h). Where only names are asked for no value is looked at:
 * the thing is NULL then, and nothing may be read from it but within a row. */
#pragma once
#include "base/json.h"

/* What a member counts, and with that how it is written. */
typedef enum {
	PIPESIM_COUNT,
	PIPESIM_TIME, /* ns, written as ms */
	PIPESIM_NS,   /* written as they are */
	PIPESIM_US,   /* ns >= 0, written as us */
	PIPESIM_BYTES,
	PIPESIM_MILLIONTHS,
	PIPESIM_YES_OR_NO,
	PIPESIM_OP,    /* of figures: by its index, written as its name; PIPESIM_NO_OP: none */
	PIPESIM_LINK,  /* of figures: by its id, written as its name */
	PIPESIM_LINKS, /* of figures: how many; JSON has the figures of each */
	PIPESIM_SHARE, /* of a whole; text has per cent */
	PIPESIM_FACTOR,
	PIPESIM_MS,          /* a fraction of ns, in ms */
	PIPESIM_WIDE,        /* a count that may pass 2^63, such as FLOPs */
	PIPESIM_ACTIVATIONS, /* in whole stages of a micro-batch */
	PIPESIM_TEXT,
	PIPESIM_TEXTS,
	PIPESIM_NESTED, /* text that is JSON already */
} PipesimFigureKind;

/* Which member is set follows from the kind: PIPESIM_NOTHING, a double that is not finite, or
 * NULL where there is nothing: null in JSON, an empty cell of a CSV. The writer borrows it. */
typedef union {
	gint64 integer;         /* PIPESIM_COUNT to PIPESIM_LINKS */
	double number;          /* PIPESIM_SHARE to PIPESIM_ACTIVATIONS */
	const char *text;       /* PIPESIM_TEXT, PIPESIM_NESTED */
	const GPtrArray *texts; /* PIPESIM_TEXTS: of char *; NULL = none */
} PipesimValue;

#define PIPESIM_NOTHING G_MININT64
/* @value of an integer where @known, else nothing. */
#define PIPESIM_KNOWN(known, value) ((known) ? (gint64)(value) : PIPESIM_NOTHING)

#define PIPESIM_VALUE_COUNT(value)       .integer = (gint64)(value)
#define PIPESIM_VALUE_TIME(value)        .integer = (value)
#define PIPESIM_VALUE_NS(value)          .integer = (value)
#define PIPESIM_VALUE_US(value)          .integer = (value)
#define PIPESIM_VALUE_BYTES(value)       .integer = (value)
#define PIPESIM_VALUE_MILLIONTHS(value)  .integer = (value)
#define PIPESIM_VALUE_YES_OR_NO(value)   .integer = (value)
#define PIPESIM_VALUE_OP(value)          .integer = (value)
#define PIPESIM_VALUE_LINK(value)        .integer = (value)
#define PIPESIM_VALUE_LINKS(value)       .integer = (value)
#define PIPESIM_VALUE_SHARE(value)       .number = (value)
#define PIPESIM_VALUE_FACTOR(value)      .number = (value)
#define PIPESIM_VALUE_MS(value)          .number = (value)
#define PIPESIM_VALUE_WIDE(value)        .number = (value)
#define PIPESIM_VALUE_ACTIVATIONS(value) .number = (value)
#define PIPESIM_VALUE_TEXT(value)        .text = (value)
#define PIPESIM_VALUE_TEXTS(value)       .texts = (value)
#define PIPESIM_VALUE_NESTED(value)      .text = (value)

/** PIPESIM_MEMBER: a row: @key and @value, which is looked at only where it is written. */
#define PIPESIM_MEMBER(json, key, kind, value)                                \
	do                                                                    \
		if (pipesim_member(json, key, PIPESIM_##kind))                \
			pipesim_value(json, PIPESIM_##kind,                   \
				(PipesimValue){PIPESIM_VALUE_##kind(value)}); \
	while (0)

/** PIPESIM_LIST: a row of @n values; @value is an expression over i. */
#define PIPESIM_LIST(json, key, kind, n, value)                               \
	do {                                                                  \
		if (!pipesim_member_list(json, key, PIPESIM_##kind))          \
			break;                                                \
		for (guint i = 0, end_ = (guint)(n); i < end_; i++)           \
			pipesim_value(json, PIPESIM_##kind,                   \
				(PipesimValue){PIPESIM_VALUE_##kind(value)}); \
		pipesim_json_close(json);                                     \
	} while (0)

/** PIPESIM_EACH: an array of objects, each by @put(json, @of, i); @of may be an expression
 * over i, as may @has, without which there is none of that i. @how: object, or line: one
 * that stays on a line. */
#define PIPESIM_EACH(json, key, how, n, has, put, of)                              \
	do {                                                                       \
		const gboolean names_ = pipesim_json_names(json);                  \
		pipesim_json_open_array(json, key);                                \
		for (guint i = 0, end_ = names_ ? 1 : (guint)(n); i < end_; i++) { \
			if (!names_ && !(has))                                     \
				continue;                                          \
			pipesim_json_open_##how(json, NULL);                       \
			put(json, names_ ? NULL : (of), i);                        \
			pipesim_json_close(json);                                  \
		}                                                                  \
		pipesim_json_close(json);                                          \
	} while (0)

/** PIPESIM_OBJECT: one by @put(json, @of, 0) where @has, else null. @how as above. */
#define PIPESIM_OBJECT(json, key, how, has, put, of)                          \
	do                                                                    \
		if (PIPESIM_WHERE(json, has)) {                               \
			pipesim_json_open_##how(json, key);                   \
			put(json, pipesim_json_names(json) ? NULL : (of), 0); \
			pipesim_json_close(json);                             \
		} else {                                                      \
			PIPESIM_MEMBER(json, key, TEXT, NULL);                \
		}                                                             \
	while (0)

/** PIPESIM_CSV: titles and @n lines, each by @put(csv, @of, i); @of as above. */
#define PIPESIM_CSV(out, n, put, of)                                           \
	do {                                                                   \
		g_autoptr(PipesimJson) csv_ = pipesim_json_new_csv(out, TRUE); \
		put(csv_, NULL, 0);                                            \
		pipesim_json_end_line(csv_);                                   \
		for (guint i = 0, end_ = (guint)(n); i < end_; i++) {          \
			put(csv_, (of), i);                                    \
			pipesim_json_end_line(csv_);                           \
		}                                                              \
	} while (0)

/** PIPESIM_WHERE: whether to write what is there only where @has. */
#define PIPESIM_WHERE(json, has) (pipesim_json_names(json) || (has))

/** PIPESIM_OF: the pointer @of->@place, NULL where @of is. */
#define PIPESIM_OF(of, place) ((of) != NULL ? (of)->place : NULL)

/** pipesim_member: names the next value. FALSE: names alone are asked for, no value. @key NULL:
 * of an array. */
gboolean pipesim_member(PipesimJson *json, const char *key, PipesimFigureKind kind);
/** pipesim_member_list: likewise; begins an array. */
gboolean pipesim_member_list(PipesimJson *json, const char *key, PipesimFigureKind kind);
/** pipesim_value: writes it. Not of ops and links. */
void pipesim_value(PipesimJson *json, PipesimFigureKind kind, PipesimValue value);

/** pipesim_value_nothing: that there is none, of @kind. */
PipesimValue pipesim_value_nothing(PipesimFigureKind kind);
/** pipesim_value_known: FALSE where there is nothing to print. */
gboolean pipesim_value_known(PipesimFigureKind kind, PipesimValue value);

/** pipesim_value_plain: appends it as programs read it, exact: a number, true or false, a text;
 * nothing where it is not known. Not of ops, links and texts. */
void pipesim_value_plain(GString *out, PipesimFigureKind kind, PipesimValue value);

/** pipesim_kind_words: what a value of @kind is, for readers: "ms", "share"; static. */
const char *pipesim_kind_words(PipesimFigureKind kind);

/** pipesim_csv_quote: appends @text as a field of a CSV, in quotes where it needs them. */
void pipesim_csv_quote(GString *out, const char *text);
