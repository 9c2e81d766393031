#include "route.h"
#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

namespace bench
{

namespace
{

/* One token's use of one group of experts. */
struct Choice {
	int group;
	float weight;
	std::vector<int> experts;
	std::vector<float> scores; /* of those experts */
};

/* A copy that a rank receives: its slot is its place in the list. */
using Copies = std::vector<Choice>;

/* Indices of the `count` largest scores, in ascending order of index. */
std::vector<int> largest(const std::vector<float> &scores, int count)
{
	std::vector<int> index(scores.size());
	std::iota(index.begin(), index.end(), 0);
	std::partial_sort(index.begin(), index.begin() + count, index.end(),
		[&](int a, int b) { return scores[a] > scores[b]; });
	index.resize(count);
	std::sort(index.begin(), index.end());
	return index;
}

/* A group's score is the sum of its two best experts, as the model's router has it. */
std::vector<int> best_groups(const RouteShape &shape, const std::vector<float> &scores)
{
	std::vector<float> by_group(shape.groups);
	for (int g = 0; g < shape.groups; g++) {
		std::vector<float> s(scores.begin() + g * shape.experts_local,
			scores.begin() + (g + 1) * shape.experts_local);
		std::sort(s.begin(), s.end(), std::greater<float>());
		by_group[g] = s[0] + (s.size() > 1 ? s[1] : 0);
	}
	return largest(by_group, shape.fanout);
}

std::vector<Choice> choose(const RouteShape &shape, std::mt19937_64 &random)
{
	std::uniform_real_distribution<float> uniform(0.01f, 1.0f);
	std::vector<float> scores(shape.groups * shape.experts_local);
	for (float &s : scores)
		s = uniform(random);
	std::vector<float> allowed(scores.size(), -1.0f);
	for (int g : best_groups(shape, scores))
		for (int e = 0; e < shape.experts_local; e++)
			allowed[g * shape.experts_local + e] =
				scores[g * shape.experts_local + e];
	std::vector<int> experts = largest(allowed, shape.topk);
	float total = 0;
	for (int e : experts)
		total += scores[e];
	std::vector<Choice> choices;
	for (int e : experts) {
		int group = e / shape.experts_local, local = e % shape.experts_local;
		if (choices.empty() || choices.back().group != group)
			choices.push_back({group, 0, {}, {}});
		choices.back().weight += scores[e] / total;
		choices.back().experts.push_back(local);
		choices.back().scores.push_back(scores[e] / total);
	}
	return choices;
}

void add_token(std::vector<RankRoute> &route, std::vector<Copies> &received,
	const RouteShape &shape, int source, int token, const std::vector<Choice> &choices)
{
	RankRoute &from = route[source];
	for (size_t place = 0; place < choices.size(); place++) {
		const Choice &c = choices[place];
		int target = c.group % shape.ranks;
		RankRoute &to = route[target];
		from.send[(size_t)token * shape.fanout + place] = pack_copy(target, to.copies);
		from.weight[(size_t)token * shape.fanout + place] = c.weight;
		from.sent++;
		from.sent_remote += target != source;
		to.home.push_back(token * shape.fanout + (int)place);
		to.copies++;
		to.rows += (int)c.experts.size();
		for (int e : c.experts)
			to.expert_rows[e]++;
		received[target].push_back(c);
	}
	for (int r = 0; r < shape.ranks; r++)
		route[r].recv_begin[(size_t)source * (shape.tokens + 1) + token + 1] =
			route[r].copies;
}

/* Expert rows in order of expert, then slot, and the way back from each copy to its rows. */
void number_rows(RankRoute &route, const Copies &received, int experts)
{
	std::vector<int32_t> next(experts, 0);
	for (int e = 1; e < experts; e++)
		next[e] = next[e - 1] + route.expert_rows[e - 1];
	route.row_slot.resize(route.rows);
	route.slot_row.assign(received.size() * experts, -1);
	route.slot_weight.assign(received.size() * experts, 0);
	for (size_t slot = 0; slot < received.size(); slot++) {
		const Choice &c = received[slot];
		for (size_t i = 0; i < c.experts.size(); i++) {
			int32_t row = next[c.experts[i]]++;
			route.row_slot[row] = (int32_t)slot;
			route.slot_row[slot * experts + i] = row;
			route.slot_weight[slot * experts + i] = c.scores[i] / c.weight;
		}
	}
}

} // namespace

std::vector<RankRoute> make_route(const RouteShape &shape)
{
	std::vector<RankRoute> route(shape.ranks);
	std::vector<Copies> received(shape.ranks);
	for (RankRoute &r : route) {
		r.send.assign((size_t)shape.tokens * shape.fanout, kNoCopy);
		r.weight.assign((size_t)shape.tokens * shape.fanout, 0);
		r.recv_begin.assign((size_t)shape.ranks * (shape.tokens + 1), 0);
		r.expert_rows.assign(shape.experts_local, 0);
	}
	std::mt19937_64 random(shape.seed);
	for (int source = 0; source < shape.ranks; source++) {
		for (RankRoute &r : route)
			r.recv_begin[(size_t)source * (shape.tokens + 1)] = r.copies;
		for (int token = 0; token < shape.tokens; token++)
			add_token(route, received, shape, source, token, choose(shape, random));
	}
	for (int r = 0; r < shape.ranks; r++)
		number_rows(route[r], received[r], shape.experts_local);
	return route;
}

} // namespace bench
