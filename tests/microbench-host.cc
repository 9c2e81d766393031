/* What pipesim-microbench decides without a GPU: when the governor series runs what, what a clock
 * was between two readings, which orders it replays. Prints what is wrong; built and run by
 * tests/microbench.sh. */
#include "device.h"
#include "governor-plan.h"
#include "microbench-check.h"
#include "model.h"
#include "replay-order.h"
#include "samples.h"
#include <cmath>
#include <cstdio>
#include <set>

using namespace bench;

namespace
{

bool near(double a, double b)
{
	return std::fabs(a - b) < 1e-9;
}

void test_samples()
{
	const std::vector<Sample> some = {{1000, 100}, {2000, 300}, {9000, 50}};
	check(near(value_at(some, 1250, 5000), 150), "a quarter between two samples");
	check(near(value_at(some, 2000, 0), 300), "at a sample");
	check(near(value_at(some, 400, 600), 100), "before the first");
	check(near(value_at(some, 400, 599), -1), "too long before the first");
	check(near(value_at(some, 9500, 600), 50), "after the last");
	check(near(value_at(some, 5000, 1000), -1), "in a gap");
	check(near(value_at(some, 3000, 1000), 300), "at the edge of a gap");
	check(near(value_at({}, 0, 1000), -1), "no samples");
}

/* What a chip that does not exist here gets: Ampere's, Hopper's, Blackwell's. */
void test_fallbacks()
{
	for (int capability : {80, 86, 89, 100, 103, 110, 120})
		check(!has_block_fp8(capability),
			"BF16 where FP8 has no blocks of 128: " + std::to_string(capability));
	check(has_block_fp8(90), "blocks of FP8 on Hopper");
	check(has_bulk_code(90, 90), "bulk copies of code for Hopper");
	check(has_bulk_code(90, 100), "bulk copies of PTX for Hopper on a chip after it");
	check(!has_bulk_code(80, 100), "PTX of Ampere has no bulk copies, whatever runs it");
	check(!has_bulk_code(80, 90), "nor on Hopper");
	check(!has_bulk_code(80, 80), "nor on Ampere");
}

/* All that depends on experts asks the model: --experts is put there. */
void test_experts()
{
	const Model own = read_model("deepseek-v3");
	for (int experts : {1, 3, 8, 64}) {
		const Model other = read_model("deepseek-v3", experts);
		check(other.experts_per_gpu == experts, "--experts " + std::to_string(experts));
		check(other.experts == own.experts && other.top_k == own.top_k,
			"--experts leaves the rest");
	}
	check(own.experts_per_gpu > 0 && !read_model("llama-3-70b").moe(),
		"the built-in models");
}

void test_plan()
{
	const std::vector<History> all = plan_governor(true);
	std::set<std::string> names;
	std::set<double> pauses, shares;
	bool waits = false;
	for (const History &history : all) {
		check(names.insert(history.name).second, history.name + " appears once");
		check(!history.components.empty() && !history.bursts.empty(),
			history.name + " has ops");
		check(history.bursts[0].pause_ms == 0 && history.bursts[0].busy_ms >= 400,
			history.name + " begins with a burst");
		for (const Burst &burst : history.bursts) {
			check(burst.busy_ms > 0, history.name + ": a burst without ops");
			if (history.name == "governor-steps/layer" && burst.busy_ms >= 1000)
				pauses.insert(burst.pause_ms);
			shares.insert(burst.share);
			waits |= burst.receive_sms > 0 && burst.pause_ms > 0;
		}
	}
	check(pauses == std::set<double>({0, 10, 20, 50, 100, 300, 1000}),
		"a second of ops after every pause");
	check(shares == std::set<double>({0, 0.5, 0.7, 0.8, 0.9, 0.95}), "every busy share");
	check(waits, "pauses in which a receive waits");
	check(planned_ms(all) > 15000 && planned_ms(all) < 26000,
		"the series takes " + std::to_string(planned_ms(all)) + " ms");
	for (const char *name : {"attn", "mlp", "exchange", "elementwise"})
		check(names.count(std::string("governor-steps/") + name), name);
	for (const History &history : plan_governor(false))
		for (const std::string &component : history.components)
			check(component != "dispatch" && component != "combine",
				"a dense model has no exchange");
}

const char kHeader[] =
	"schedule,step,rank,stage,op,microbatch,start_ns,dur_ns,b_stage,b_microbatch\n";

std::string written(const std::string &text)
{
	const std::string path = "order.csv";
	FILE *file = fopen(path.c_str(), "w");
	fwrite(text.data(), 1, text.size(), file);
	fclose(file);
	return path;
}

/* What is said of an order with that text, every GPU a rank; empty where it is good. */
std::string fault(const std::string &text, bool connect = true)
{
	try {
		ReplayOrder order = read_order(written(text));
		if (connect)
			order.connect();
	} catch (const OrderError &e) {
		return e.what();
	}
	return "";
}

void refuse(const std::string &text, const std::string &expected)
{
	std::string said = fault(text);
	check(said == expected, "'" + said + "' instead of '" + expected + "'");
}

void test_good_order()
{
	const std::string text = std::string("\xef\xbb\xbf#a comment\r\n") + kHeader +
				 "\"zb,h1\",0,0,0,F,0,100,10,,\r\n"
				 "\"zb,h1\",0,1,1,F,0,115,10,,\n\n"
				 "\"zb,h1\",0,1,1,I,0,125,10,,\n"
				 "\"zb,h1\",0,1,1,W,0,135,20,,\n"
				 "\"zb,h1\",0,0,0,B,0,140,30,,";
	ReplayOrder order = read_order(written(text));
	check(order.schedule == "zb,h1" && order.stages == 2 && order.ranks.size() == 2 &&
			order.ops() == 5,
		"schedule, stages, ranks and ops");
	check(order.first_ns == 100 && order.step_ns == 70,
		"from the first start to the last end");
	check(order.idle_ns(0) == std::vector<int64_t>({0, 30, 0}), "idle time of rank 0");
	check(order.idle_ns(1) == std::vector<int64_t>({15, 0, 0, 15}), "idle time of rank 1");
	order.connect();
	check(order.ranks[0][0].needs.empty(), "the first forward needs nothing");
	const std::vector<ReplayOp::Place> &needs = order.ranks[0][1].needs;
	check(needs.size() == 2 && needs[0].rank == 0 && needs[0].at == 0 &&
			needs[1].rank == 1 && needs[1].at == 1,
		"a backward needs its forward and the gradient of the next stage");
	check(order.ranks[1][2].needs.size() == 1, "W needs I");
}

void test_pairs()
{
	const std::string head = kHeader;
	ReplayOrder order =
		read_order(written(head + "d,0,0,0,F,0,0,10,,\nd,0,0,0,FB,1,20,30,0,0\n"
					  "d,0,0,0,B,1,50,20,,\n"));
	order.connect();
	check(order.ranks[0][1].needs.size() == 1 && order.ranks[0][1].needs[0].at == 0,
		"the backward of a pair needs its forward");
	check(order.ranks[0][2].needs.size() == 1 && order.ranks[0][2].needs[0].at == 1,
		"the forward of a pair is one");
	refuse("schedule,stage,op,microbatch,start_ns,dur_ns\nd,0,FB,1,20,30\n",
		"order.csv:2:5: an FB needs the columns b_stage and b_microbatch");
}

void test_faults()
{
	const std::string head = kHeader;
	refuse("", "order.csv:1:1: no header; what pipesim --format ops writes is expected");
	refuse(head, "order.csv:1:1: no op");
	refuse("stage,op,microbatch,start_ns\n0,F,0,0\n",
		"order.csv:1:1: column 'dur_ns' is missing; pipesim --format ops writes it");
	refuse("stage,op,op,microbatch,start_ns,dur_ns\n",
		"order.csv:1:10: column 'op' appears twice; remove one");
	refuse(head + "d,0,0,0,F,0,0\n", "order.csv:2:1: 7 cells, but the header has 10");
	refuse(head + "d,0,0,0,F,x,0,10,,\n",
		"order.csv:2:11: microbatch 'x' is not a whole number up to 1048576");
	refuse(head + "d,0,0,0,F,0,-5,10,,\n",
		"order.csv:2:13: start_ns '-5' is not a whole number up to 1000000000000");
	refuse(head + "d,0,0,0,F,0,0,99999999999999999999,,\n",
		"order.csv:2:15: dur_ns '99999999999999999999' is not a whole number up to "
		"1000000000000");
	refuse(head + "d,0,0,0,SEND,0,0,10,,\n", "order.csv:2:9: op 'SEND' is not one of F, I, "
						 "W, B, FB; leave out what is no op");
	refuse(head + "d,0,0,0,F,0,0,10,,\ne,0,0,0,B,0,10,10,,\n",
		"order.csv:3:1: schedule 'e' after 'd'; give one schedule");
	refuse(head + "d,0,0,0,F,0,0,10,,\nd,1,0,0,B,0,10,10,,\n",
		"order.csv:3:3: step 1 after step 0; give one step");
	refuse(head + "d,0,0,0,F,0,0,10,,\nd,0,0,0,B,0,9,10,,\n",
		"order.csv:3:9: starts at 9 ns, before the op of line 2 of this rank ends at "
		"10");
	refuse(head + "d,0,0,0,F,0,0,10,,\nd,0,0,0,F,0,10,10,,\n",
		"order.csv:3:9: a second F of stage 0, micro-batch 0");
	refuse(head + "d,0,0,0,B,0,0,10,,\n",
		"order.csv:2:9: needs F of stage 0, micro-batch 0, which is missing");
	refuse(head + "d,0,0,0,F,0,0,10,,\nd,0,1,1,F,0,9,10,,\n",
		"order.csv:3:9: starts before the op that it needs ends: F of stage 0, "
		"micro-batch 0, line 2");
	std::string many = head;
	for (int i = 0; i < 30; i++)
		many += "d,0,0,0,?,0,0,0,,\n";
	const std::string said = fault(many);
	check(said.find("order.csv:21:9: ") != std::string::npos &&
			said.find("order.csv:22:9: ") == std::string::npos &&
			said.find("\norder.csv: 10 more faults") != std::string::npos,
		"twenty faults at most: " + said);
	check(fault(head + "d,0,0,0,B,0,0,10,,\n", false).empty(),
		"one rank alone needs no other op");
}

/* Whatever a file holds is read or refused. */
void test_any_bytes()
{
	unsigned state = 1;
	const std::string good =
		std::string(kHeader) +
		"d,0,0,0,F,0,0,10,,\nd,0,0,0,FB,1,10,10,0,0\nd,0,0,0,B,1,20,10,,\n";
	int refused = 0;
	for (int i = 0; i < 2000; i++) {
		std::string text = good;
		for (int k = 0; k < 3; k++) {
			state = state * 1664525 + 1013904223;
			text[(state >> 8) % text.size()] = "0,9\"\nFx#-\xff"[(state >> 4) % 10];
		}
		refused += !fault(text).empty();
	}
	check(refused > 1000 && refused < 2000, std::to_string(refused) + " of 2000 refused");
}

} // namespace

int main()
{
	test_samples();
	test_fallbacks();
	test_experts();
	test_plan();
	test_good_order();
	test_pairs();
	test_faults();
	test_any_bytes();
	bool absent = false;
	try {
		read_order("absent.csv");
	} catch (const OrderError &) {
	} catch (const std::runtime_error &e) {
		absent = std::string(e.what()) == "absent.csv: No such file or directory";
	}
	check(absent, "a file that is not there");
	printf("%d %d\n", checks, failures);
	return failures > 0;
}
