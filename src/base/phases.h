/* Short names for .c files: forward, backward for the input (dgrad), backward for the weights (wgrad). As
 * PipesimKind and the codes of order/instance.h count them. */
#pragma once

enum {
	F,
	I,
	W
};
