/* What the governor series runs: bursts of ops and the pauses before them. Host only. */
#pragma once
#include <string>
#include <vector>

namespace bench
{

/* A pause, then ops back to back. */
struct Burst {
	double pause_ms = 0; /* 0: none, the ops follow those of the burst before */
	double busy_ms = 0;  /* at least so much of ops */
	/* Above 0: the pause after the burst is such that the burst is this share of both; then
	 * pause_ms of the next one is not heeded. */
	double share = 0;
	int receive_sms = 0; /* SMs of a receive that waits during the pause */
};

/* One unbroken history of a GPU: its rows are one run_id. */
struct History {
	std::string name;
	std::vector<std::string> components; /* their phases in turn */
	std::vector<Burst> bursts;
};

/* All histories of a model, with an exchange or without. */
std::vector<History> plan_governor(bool exchange);
/* What they take, pauses included. */
double planned_ms(const std::vector<History> &histories);

} // namespace bench
