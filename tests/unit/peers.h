/* Processes that share work, as threads. */
#pragma once
#include "base/parallel.h"

#define PEERS 3

/* What the calling thread of peers_run() is among the others. */
PipesimPeers peers_join(void);

/* Runs @run in as many threads, which call peers_join(), with @data: what each returns. */
void peers_run(GThreadFunc run, gpointer data, gpointer results[PEERS]);
