#include "governor-plan.h"

namespace bench
{

namespace
{

constexpr double kPauses[] = {0, 10, 20, 50, 100, 300, 1000};
constexpr double kShares[] = {0.95, 0.9, 0.8, 0.7, 0.5};
constexpr double kLongShares[] = {0.9, 0.7};
constexpr double kLongMs = 1500, kStepMs = 1000; /* bursts of the whole layer */
constexpr double kWarmMs = 400, kShortMs = 400;  /* of the other histories */
constexpr double kCycleMs = 500;                 /* of each duty cycle, two periods at least */
constexpr double kWaits[] = {20, 100, 300};
constexpr int kReceiveSms = 16;

/* Whole ops only: `period` is what they and the pause after them come near to. */
void add_cycle(History &history, double period, double share)
{
	int count = (int)(kCycleMs / period);
	for (int i = 0; i < (count < 2 ? 2 : count); i++) {
		Burst burst;
		burst.busy_ms = period * share;
		burst.share = share;
		history.bursts.push_back(burst);
	}
}

void add_step(History &history, double pause_ms, double busy_ms, int receive_sms)
{
	Burst burst;
	burst.pause_ms = pause_ms;
	burst.busy_ms = busy_ms;
	burst.receive_sms = receive_sms;
	history.bursts.push_back(burst);
}

History steps(const std::string &name, const std::vector<std::string> &components)
{
	History history = {"governor-steps/" + name, components, {}};
	add_step(history, 0, kWarmMs, 0);
	for (double pause : {20, 300})
		add_step(history, pause, kShortMs, 0);
	return history;
}

} // namespace

std::vector<History> plan_governor(bool exchange)
{
	History responses = {"governor-steps/layer", {"layer"}, {}};
	add_step(responses, 0, kLongMs, 0);
	for (double pause : kPauses)
		add_step(responses, pause, kStepMs, 0);
	History cycles = {"governor-cycles/layer", {"layer"}, {}};
	add_step(cycles, 0, kWarmMs, 0);
	for (double period : {30, 100})
		for (double share : kShares)
			add_cycle(cycles, period, share);
	for (double share : kLongShares)
		add_cycle(cycles, 400, share);
	History waits = {"governor-waits/layer", {"layer"}, {}};
	add_step(waits, 0, kWarmMs, 0);
	for (double pause : kWaits)
		add_step(waits, pause, kShortMs, kReceiveSms);
	std::vector<History> all = {
		responses, cycles, waits, steps("attn", {"attn"}), steps("mlp", {"mlp"})};
	if (exchange)
		all.push_back(steps("exchange", {"dispatch", "combine"}));
	all.push_back(steps("elementwise", {"elementwise"}));
	return all;
}

double planned_ms(const std::vector<History> &histories)
{
	double total = 0;
	for (const History &history : histories)
		for (const Burst &burst : history.bursts)
			total += burst.share > 0 ? burst.busy_ms / burst.share
						 : burst.pause_ms + burst.busy_ms;
	return total;
}

} // namespace bench
