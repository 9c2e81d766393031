#include "progress.h"
#include <algorithm>
#include <cstdio>
#include <unistd.h>

namespace bench
{

Progress::Progress()
    : begin(std::chrono::steady_clock::now()), shown(begin), terminal(isatty(STDERR_FILENO))
{
}

double Progress::elapsed_s() const
{
	return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Progress::plan(double total_s)
{
	total = total_s;
	done = 0;
	planned_at = elapsed_s();
}

void Progress::step(const std::string &name)
{
	bool news = name != current;
	current = name;
	show(news);
}

void Progress::advance(double done_s)
{
	done = std::min(done + done_s, total);
	show(false);
}

void Progress::finish()
{
	if (terminal)
		fputs("\r\033[K", stderr);
	fprintf(stderr, "pipesim-microbench: done in %.0f s\n", elapsed_s());
}

/* What is done tells how much slower than its GPU time the rest will be. */
void Progress::show(bool now)
{
	auto time = std::chrono::steady_clock::now();
	if (!now && (!terminal || time - shown < std::chrono::milliseconds(500)))
		return;
	shown = time;
	double spent = elapsed_s() - planned_at;
	double slowness = done > 2 ? std::max(1.0, spent / done) : 1.3;
	fprintf(stderr, "%spipesim-microbench: %.0f s, %s", terminal ? "\r\033[K" : "",
		elapsed_s(), current.c_str());
	if (total > 0)
		fprintf(stderr, ", about %.0f s remain", (total - done) * slowness);
	fputs(terminal ? "" : "\n", stderr);
	fflush(stderr);
}

} // namespace bench
