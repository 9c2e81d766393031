/* What the series of ops beside receives and messages share: resident.cc runs it beside our own,
 * resident-nccl.cc beside NCCL's. */
#pragma once
#include "series.h"

namespace bench
{

constexpr int kResidentReps = 16, kResidentWarmup = 2;
/* Messages that are queued for a round: so much longer than the ops last alone. */
constexpr double kMovingSpare = 2.0;

/* What lies beside the ops of a round. */
struct Beside {
	bool moving = false;
	bool nccl = false;
	bool alone = false;
	int sms = 0;
};

/* The rounds of one GPU. */
class Rounds
{
      public:
	Rounds(Chip &chip, Sampler &sampler, int64_t bytes);
	/* Runs the ops beside what is there already; `over` says whether it still was when the
	 * last op ended. */
	void run(const Beside &beside, int rep, int order, const std::function<bool()> &over);
	double lasts_ns() const;
	std::vector<TraceRow> rows;

      private:
	Chip &chip;
	Sampler &sampler;
	int64_t bytes;
	std::vector<const ChipOp *> ops;
	std::vector<Event> events;
	Event origin;
	int64_t origin_ns;
};

/* Beside receives and messages of NCCL's between each GPU and the next, one pair after the other.
 * Unsupported where NCCL is not found; `version` becomes NCCL's. */
void measure_beside_nccl(const Chips &chips, Sampler &sampler, int64_t bytes, uint64_t seed,
	std::vector<TraceRow> &rows, std::string &version);

} // namespace bench
