/* What a cutter is made of, for the files that it is in. */
#pragma once
#include "transformer/cutter.h"

/* What a stage of one content holds and takes. */
typedef struct {
	PipesimCut cut; /* the first stage that was like it */
	PipesimStage stage;
	/* F and a backward in its halves; these where it is split. 0 where no times are
	 * known. */
	gint64 ns[3], split[2], tail;
} Sum;

/* What all layouts of a model at one training share. */
typedef struct _Base Base;
struct _Base {
	gint references;
	Base *sparing; /* the same with what is computed again in backwards, of whose ops R are made; NULL: none are */
	PipesimTransformer *model;
	PipesimTraining training;
	PipesimRates rates;
	gboolean timed;
	PipesimTermSum parts[PIPESIM_N_PARTS];
	PipesimPartTimes times[PIPESIM_N_PARTS];
	GMutex lock;
	GPtrArray *sums;                     /* of Sum, owned; each content once */
	gint64 fixed[1u << PIPESIM_N_PARTS]; /* by sorts; -1: not known yet */
	double sequence;                     /* that is not cut takes, ns; 0: not known */
	/* What sequences in so many slices take: of those that were asked for last. */
	guint slices;
	PipesimSliceTimes slice;
};

typedef struct {
	PipesimCutter cutter; /* first */
	Base *base;
	PipesimStages *layout;          /* or NULL */
	gboolean balance;               /* instead of spreading layers evenly */
	double weight[PIPESIM_N_PARTS]; /* of each part then */
	GMutex lock;
	GPtrArray *known;        /* of Known, owned */
	gboolean search, placed; /* runs look for their layout; they have */
	guint ranks;             /* of a pipeline; 0: not known yet */
	/* Output layer and embedding are not in stages, but a share of both is on each rank; beside it
	 * what passes hold, bytes of a rank. NULL: they are in stages. */
	const Sum *vocabulary;
	gint64 held;
} Cutter;

/** pipesim_cutter_slice: PipesimCutter.slice, of one with the rates of a device. */
void pipesim_cutter_slice(const PipesimCutter *own, guint slices, PipesimSlicing *slicing);
