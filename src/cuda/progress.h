/* What remains, on standard error: one line that is rewritten on a terminal, else one line a
 * step. */
#pragma once
#include <chrono>
#include <string>

namespace bench
{

class Progress
{
      public:
	Progress();
	/* Seconds of GPU time that all steps are expected to take. */
	void plan(double total_s);
	void step(const std::string &name);
	void advance(double done_s);
	void finish();

      private:
	void show(bool now);
	double elapsed_s() const;
	std::chrono::steady_clock::time_point begin, shown;
	std::string current;
	double total = 0, done = 0, planned_at = 0;
	bool terminal;
};

} // namespace bench
