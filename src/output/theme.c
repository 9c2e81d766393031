#include "output/theme.h"

const char *const pipesim_look_titles[PIPESIM_FB] = {
	[PIPESIM_F] = "forward",
	[PIPESIM_I] = "backward for input",
	[PIPESIM_W] = "backward for weights",
	[PIPESIM_B] = "full backward",
};

/* Orange, sky blue, blue and green, as Okabe and Ito chose them for every kind of colour
 * vision, moved so that the first two shades of each lie far apart in lightness: L* 83 94, 67 78,
 * 16 32, 46 61. A grey print then keeps them apart. */
static const PipesimLook light_looks[PIPESIM_FB] = {
	[PIPESIM_F] = {{"#FFC44F", "#FFEDC4", "#E08A1E", "#F5E356"}, "#303030"},
	[PIPESIM_I] = {{"#52ACE8", "#8FCBE0", "#2C7FC4", "#C9E6F7"}, "#303030"},
	[PIPESIM_W] = {{"#15225A", "#3F4690", "#6A6FC0", "#B3B0E4"}, "#A6ACDC"},
	[PIPESIM_B] = {{"#007C55", "#53A37B", "#00492F", "#A8D8B9"}, "#303030"},
};

/* The same hues; what is near to black would not be seen. */
static const PipesimLook dark_looks[PIPESIM_FB] = {
	[PIPESIM_F] = {{"#E5A92F", "#F3D996", "#B86E14", "#D9C63A"}, "#16181D"},
	[PIPESIM_I] = {{"#3F97D3", "#8CC4DC", "#2A6CA8", "#BFDDEE"}, "#16181D"},
	[PIPESIM_W] = {{"#5560B8", "#7C85D6", "#3A4288", "#A9AEE8"}, "#16181D"},
	[PIPESIM_B] = {{"#0E8F66", "#62B58C", "#0A5E44", "#A5D6B8"}, "#16181D"},
};

/* Greys, each kind in a range of its own. */
static const PipesimLook print_looks[PIPESIM_FB] = {
	[PIPESIM_F] = {{"#E4E4E4", "#F4F4F4", "#DADADA", "#ECECEC"}, "#000000"},
	[PIPESIM_I] = {{"#BCBCBC", "#ACACAC", "#C4C4C4", "#B4B4B4"}, "#000000"},
	[PIPESIM_W] = {{"#202020", "#404040", "#303030", "#505050"}, "#C0C0C0"},
	[PIPESIM_B] = {{"#747474", "#989898", "#666666", "#888888"}, "#000000"},
};

static const PipesimTheme themes[] = {
	[PIPESIM_THEME_LIGHT] = {"#FFFFFF", "#000000", "#606060", "#909090", "#000000",
		"#D00000", light_looks, {{"#B0400A", "#F4C9B0"}, {"#8A2F74", "#E6C8DF"}},
		{"#C2185B", "#6A3FB5", "#606060"}, {"#2D69BE", "#8A3DBE", "#BE2D52"},
		{"#0A5BD3", "#E4E4E4", "#C81E1E"}},
	[PIPESIM_THEME_DARK] = {"#16181D", "#E8E8E8", "#A8A8A8", "#70747C", "#FFFFFF",
		"#FF5A4F", dark_looks, {{"#F0803C", "#6B3D22"}, {"#D97BC4", "#5C3454"}},
		{"#FF6FA5", "#B08CFF", "#B4B4B4"}, {"#7FB2FF", "#C79BFF", "#FF8FA8"},
		{"#5AA0FF", "#3A3D44", "#FF6257"}},
	[PIPESIM_THEME_PRINT] = {"#FFFFFF", "#000000", "#404040", "#808080", "#000000",
		"#000000", print_looks, {{"#303030", "#C8C8C8"}, {"#606060", "#DCDCDC"}},
		{"#000000", "#909090", "#505050"}, {"#000000", "#606060", "#A0A0A0"},
		{"#FFFFFF", "#B4B4B4", "#000000"}},
};

const PipesimTheme *pipesim_theme(PipesimThemeName name)
{
	return &themes[name];
}

void pipesim_theme_rgb(const char *colour, guint8 rgb[3])
{
	const gulong value = strtoul(colour + 1, NULL, 16);

	for (guint c = 0; c < 3; c++)
		rgb[c] = (guint8)(value >> (16 - 8 * c));
}

const char *pipesim_theme_text(const char *colour)
{
	guint8 rgb[3];

	pipesim_theme_rgb(colour, rgb);
	return 299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] < 120000 ? "white" : "black";
}

const char *pipesim_theme_mix(
	const char *from, const char *to, guint part, guint whole, char out[8])
{
	guint8 a[3], b[3];

	pipesim_theme_rgb(from, a);
	pipesim_theme_rgb(to, b);
	for (guint c = 0; c < 3; c++)
		a[c] = (guint8)((a[c] * (whole - part) + b[c] * part) / whole);
	g_snprintf(out, 8, "#%02X%02X%02X", a[0], a[1], a[2]);
	return out;
}

const char *pipesim_theme_rank(const PipesimTheme *theme, guint i, guint n, char out[8])
{
	/* Twice the way from one of the three to the next. */
	const guint steps = n > 1 ? n - 1 : 1, at = 2 * i;
	const guint part = at / steps < 2 ? at / steps : 1;

	return pipesim_theme_mix(
		theme->ranks[part], theme->ranks[part + 1], at - part * steps, steps, out);
}

const char *pipesim_theme_speed(const PipesimTheme *theme, guint level, char out[8])
{
	const gboolean slower = level >= PIPESIM_SPEED_SUSTAINED;
	const guint from = slower ? PIPESIM_SPEED_SUSTAINED : 0;
	const guint to = slower ? PIPESIM_SPEEDS - 1 : PIPESIM_SPEED_SUSTAINED;

	return pipesim_theme_mix(
		theme->speeds[slower], theme->speeds[slower + 1], level - from, to - from, out);
}

const char *pipesim_theme_beside(const PipesimTheme *theme, char out[8])
{
	return pipesim_theme_mix(theme->messages[1][1], theme->messages[1][0], 5, 10, out);
}

const char *pipesim_theme_part(const PipesimTheme *theme, guint part, char out[8])
{
	const char *const colours[] = {theme->quiet, theme->looks[PIPESIM_F].colours[0],
		theme->looks[PIPESIM_B].colours[0], theme->looks[PIPESIM_W].colours[0],
		theme->messages[0][0], theme->messages[1][0], theme->critical};

	return pipesim_theme_mix(theme->paper, colours[part % G_N_ELEMENTS(colours)],
		part == 0                           ? 3
		: part + 1 == G_N_ELEMENTS(colours) ? 8
						    : 5,
		10, out);
}
