/* Random numbers without a state: each is a function of where it is used, so that they are the
 * same in whatever order, on however many threads, and for every schedule. */
#pragma once
#include "base/base.h"

/* One sample of one seed. */
typedef struct {
	guint32 a, b;
} PipesimSampleKey;

/** pipesim_sample_key: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) of both. */
static inline PipesimSampleKey pipesim_sample_key(guint64 seed, guint64 sample)
{
	guint64 x = seed * G_GUINT64_CONSTANT(0xd1342543de82ef95) +
		    (sample + 1) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
	x ^= x >> 31;
	return (PipesimSampleKey){(guint32)x, (guint32)(x >> 32)};
}

/* Numbers of neighbouring places differ by this. */
#define PIPESIM_PLACE_STEP 0x9e3779b1u

/* Multipliers and shifts of a 32-bit mixer of two rounds with little bias (found by Wellons'
 * hash prospector); the second half of the key enters between the rounds. */
#define PIPESIM_MIX_1 0x21f0aaadu
#define PIPESIM_MIX_2 0x735a2d97u

/** pipesim_random: 32 bits for @place, a multiple of PIPESIM_PLACE_STEP. */
static inline guint32 pipesim_random(PipesimSampleKey key, guint32 place)
{
	guint32 x = place ^ key.a;

	x = (x ^ x >> 16) * PIPESIM_MIX_1;
	x = ((x ^ x >> 15) + key.b) * PIPESIM_MIX_2;
	return x ^ x >> 15;
}

/** pipesim_random_below: the number @drawn of those drawn one after the other with @key, from 0
 * to @below - 1. */
static inline guint32 pipesim_random_below(PipesimSampleKey key, guint32 drawn, guint32 below)
{
	return (guint32)((guint64)pipesim_random(key, drawn * PIPESIM_PLACE_STEP) * below >>
			 32);
}
