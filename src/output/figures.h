/* The figures of a run and how they are printed: one table (figure-list.h) that every format goes
 * by, so that all of them agree. */
#pragma once
#include "output/output.h"

/* Those of sweeps come first, so that the values of a point are an array by figure. */
typedef enum {
#define SWEPT(id, ...) PIPESIM_FIGURE_##id,
#define FIGURE(id, ...)
#include "output/figure-list.h"
	PIPESIM_N_SWEPT,
	PIPESIM_LAST_SWEPT = PIPESIM_N_SWEPT - 1,
#define SWEPT(id, ...)
#define FIGURE(id, ...) PIPESIM_FIGURE_##id,
#include "output/figure-list.h"
} PipesimFigureId;

/* How many values of a figure a run has. */
typedef enum {
	PIPESIM_PER_RUN,
	PIPESIM_PER_RANK,
	PIPESIM_PER_LINK, /* JSON: in the value of the figure of kind PIPESIM_LINKS */
} PipesimFigurePer;

/* The tables of the text, by what their rows are. */
typedef enum {
	PIPESIM_IN_NO_TABLE,
	PIPESIM_OF_RUNS,
	PIPESIM_OF_RANKS,
	PIPESIM_OF_LINKS, /* of each run */
	PIPESIM_OF_EACH_LINK,
} PipesimTextTable;

typedef struct {
	PipesimFigureId id;
	PipesimFigureKind kind;
	PipesimValue (*get)(
		const PipesimComparison *comparison, const PipesimRun *run, guint index);
	PipesimFigurePer per;
	gboolean of_power;    /* there only where the costs have power or contention */
	gboolean of_host;     /* there only where they have launches */
	gboolean of_copies;   /* there only where copies to the host take time */
	gboolean of_period;   /* there only where no barrier ends steps */
	gboolean of_training; /* there only where a described model has times */
	gboolean of_comm; /* there only where the scenario has messages wait for each other */
	/* JSON: its key, and that of the object it is in (NULL: that of the run itself). An object
	 * whose first figure has no value is null as a whole. */
	const char *object, *json;
	const char *csv;   /* column */
	const char *sweep; /* column, or key, of a sweep's rows */
	struct {
		PipesimTextTable table;
		guint place;               /* of its column, from 1 */
		const char *group, *title; /* as in PipesimColumn */
	} text;
	/* Of a run, where only what decides is shown. */
	struct {
		guint place;               /* of its column, from 1; 0 = it is not shown */
		const char *group, *title; /* with the unit, unless values are large */
		guint spare; /* too wide a table does without this one: 1 the first; 0 = never */
	} few;
} PipesimFigure;

/** pipesim_figures: all @pipesim_n_figures of them, in the order of JSON and CSV. */
extern const PipesimFigure pipesim_figures[];
extern const guint pipesim_n_figures;

/** pipesim_figure: the one of that id. */
const PipesimFigure *pipesim_figure(PipesimFigureId id);

/** pipesim_figure_value: of @run, which may have been refused: then there is none but the error.
 * @comparison: (nullable): only for figures of sweeps
 * @index: rank or link, where the figure is of each */
PipesimValue pipesim_figure_value(const PipesimFigure *figure,
	const PipesimComparison *comparison, const PipesimRun *run, guint index);

/** pipesim_figure_asked: FALSE for one of messages that wait for each other, or of a model that
 * has times, where @comparison has none. */
gboolean pipesim_figure_asked(const PipesimFigure *figure, const PipesimComparison *comparison);

/** pipesim_figure_known: whether a run of @comparison has a value of the figure @id. */
gboolean pipesim_figure_known(PipesimFigureId id, const PipesimComparison *comparison);

/* How the numbers of a text table are printed. */
typedef struct {
	guint decimals;    /* of ms */
	guint of_bytes;    /* decimals of bytes in a unit */
	guint activations; /* decimals of these */
	gint64 bytes;      /* that the unit of the column has; 0: each value has its own unit */
} PipesimNumbers;

/** pipesim_value_print: as people read it; NULL where it is not known. Not of ops and texts. For
 * g_free(). */
char *pipesim_value_print(
	PipesimFigureKind kind, PipesimValue value, const PipesimNumbers *numbers);

/** pipesim_figure_member: writes it as a member @key; other arguments as of
 * pipesim_figure_value(). */
void pipesim_figure_member(PipesimJson *json, const char *key, const PipesimFigure *figure,
	const PipesimComparison *comparison, const PipesimRun *run, guint index);

/** pipesim_comparison_members: all that JSON has of the PipesimComparison @of; NULL where @json
 * asks for names. */
void pipesim_comparison_members(PipesimJson *json, gconstpointer of);

/** pipesim_figures_of_point: the @values, by id, of a @run with a result. */
void pipesim_figures_of_point(const PipesimRun *run, PipesimValue values[PIPESIM_N_SWEPT]);

/** pipesim_figure_activations: @chunks in whole-stage units of @report. */
double pipesim_figure_activations(const PipesimReport *report, guint chunks);
/** pipesim_figure_fraction: num / den. */
double pipesim_figure_fraction(PipesimFraction value);
/** pipesim_figure_times: appends "Times, ms: F 1, I 1 ... P2P 0", of each kind of op and with
 * @before in front of the last. */
void pipesim_figure_times(GString *out, const PipesimCosts *costs, const char *before);
/** pipesim_figure_fixed: @value with @decimals, whatever the locale; returns @out. */
const char *pipesim_figure_fixed(PipesimNumber out, double value, guint decimals);
/** pipesim_figure_short: @value with at most @decimals and without zeros at the end. */
const char *pipesim_figure_short(PipesimNumber out, double value, guint decimals);
/* As text that lives as long as the block it is made in. */
#define pipesim_fixed(value, decimals) pipesim_figure_fixed((PipesimNumber){0}, value, decimals)
#define pipesim_short(value, decimals) pipesim_figure_short((PipesimNumber){0}, value, decimals)
