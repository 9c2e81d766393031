#include "sweep/series.h"
#include "output/theme.h"

/* A colour a family; dash and marker tell its members apart. */
#define GREY   "#6B6B6B"
#define ORANGE "#D55E00"
#define PURPLE "#8A3DBE"
#define BLUE   "#1668B5"
#define GREEN  "#00865F"
#define RED    "#C2203A"
#define BROWN  "#85590A"
#define CYAN   "#00798C"
#define BLACK  "#000000"

static const PipesimSeries series[] = {
	{"gpipe", GREY, 1, 5},
	{"1f1b", ORANGE, 1, 7},
	{"1f1b-v", ORANGE, 2, 6},
	{"interleaved-1f1b", ORANGE, 4, 9},
	{"looped-bfs", ORANGE, 3, 8},
	{"gis", BROWN, 1, 7},
	{"gis-h", BROWN, 2, 6},
	{"po-h", BROWN, 4, 5},
	{"po-f", BROWN, 3, 4},
	{"seq1f1b", CYAN, 1, 7},
	{"slimpipe", CYAN, 2, 9},
	{"terapipe", CYAN, 4, 5},
	{"vocab-1", CYAN, 3, 11},
	{"vocab-2", CYAN, 5, 13},
	{"v-half-vocab-1", GREEN, 5, 9},
	{"v-half-vocab-2", GREEN, 1, 8},
	{"chimera", PURPLE, 1, 13},
	{"chimera-doubling", PURPLE, 2, 12},
	{"chimera-halving", PURPLE, 4, 11},
	{"hanayo", PURPLE, 3, 10},
	{"zb-h1", BLUE, 1, 7},
	{"zb-h2", BLUE, 2, 6},
	{"zb-auto", BLUE, 4, 5},
	{"interleaved-zb", BLUE, 3, 9},
	{"zb-v", GREEN, 1, 11},
	{"zb-v-auto", GREEN, 2, 10},
	{"v-half", GREEN, 4, 15},
	{"v-min", GREEN, 3, 14},
	{"dualpipe", RED, 1, 5},
	{"dualpipev", RED, 2, 4},
};

static const PipesimSeries *find(const char *name)
{
	for (gsize i = 0; i < G_N_ELEMENTS(series); i++) {
		const gsize length = strlen(series[i].name);

		if (strncmp(name, series[i].name, length) == 0 &&
			(name[length] == '\0' || name[length] == ':'))
			return &series[i];
	}
	return NULL;
}

gboolean pipesim_series_akin(const char *const *names, guint a, guint b)
{
	const PipesimSeries *first = find(names[a]), *second = find(names[b]);

	return first != NULL && second != NULL && strcmp(first->colour, second->colour) == 0;
}

PipesimSeries pipesim_series(const char *const *names, guint index)
{
	const PipesimSeries *known = find(names[index]);
	PipesimSeries own = known != NULL ? *known : (PipesimSeries){NULL, BLACK, 1, 1};

	own.name = names[index];
	/* What comes before it and would look the same moves it on. */
	for (guint i = 0; i < index; i++)
		if (find(names[i]) == known) {
			own.dash = own.dash % 5 + 1;
			own.point = own.point % 15 + 1;
		}
	return own;
}

const char *pipesim_series_tint(const PipesimSeries *own, char out[8])
{
	/* Of white, in 16 parts, by what tells members apart. */
	static const guint8 white[] = {10, 7, 12, 13, 9, 11};

	return pipesim_theme_mix(
		own->colour, "#FFFFFF", white[own->dash % G_N_ELEMENTS(white)], 16, out);
}
