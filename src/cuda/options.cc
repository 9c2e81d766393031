#include "options.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <getopt.h>

namespace bench
{

namespace
{

const char kUsage[] =
	"Usage: pipesim-microbench [--all] [-o FILE.csv] [OPTION]...\n"
	"\n"
	"Runs the kernels of one layer of a mixture-of-experts model on this host's GPUs and\n"
	"writes a trace for pipesim: one CSV row per repetition, and FILE.ini that says where\n"
	"it comes from. Prints how each component compares with what the chip can do.\n"
	"\n"
	"  --all                everything: main series, tuning curves, reduced SM budgets,\n"
	"                       SM split modes, sweep, message sizes, single kernels,\n"
	"                       governor, resident\n"
	"  --governor           ops after pauses, in duty cycles and without pause, with "
	"clocks\n"
	"                       and power (25 s); without --all nothing else\n"
	"  --resident           every component beside a receive that waits on 0 to 32 SMs, "
	"and\n"
	"                       beside a message that moves; without --all nothing else\n"
	"  --replay FILE        run a step that 'pipesim --format ops' wrote (- is standard\n"
	"                       input): as many GPUs as it has ranks, or one rank on one GPU;\n"
	"                       may be given several times\n"
	"  --replay-rank R      on one GPU: which rank (0)\n"
	"  -o, --output FILE    the trace; - is standard output\n"
	"  --model FILE.ini     layer shapes: a file, deepseek-v3 (default) or llama-3-70b\n"
	"  --tokens N           tokens of the micro-batch (4096)\n"
	"  --experts N          experts per GPU (the model's)\n"
	"  --reps N             repetitions of each component (200)\n"
	"  --gpus N             1, 2, 4 or 8 GPUs of this host (as many as there are)\n"
	"  --comm-sms N         SMs of the communication kernels, 1 to 256 (20)\n"
	"  --sm-mode MODE       in the overlapped pair: none or grid (default)\n"
	"  --sm-split A+B       compute + communication SMs of the pair, such as 112+20\n"
	"  --chunk-tokens N     tokens between two flags (tuned by measurement)\n"
	"  --pace-gbps G        send at most G * 1e9 bytes a second: a slower network\n"
	"  --seed N             of data, routing and order (1)\n"
	"  --only LIST          of the main series attn,dispatch,mlp,combine,p2p,chunk and of\n"
	"                       the steps curves,rows,reduced,modes,sweep,sizes,parts,\n"
	"                       governor,resident\n"
	"  --sweep-sms[=LIST]   sweep the communication SMs (0,8,16,20,24,32,48; 0 = copy\n"
	"                       engines)\n"
	"  --check              compare every kernel with a reference instead of timing it\n"
	"  --report             single kernels in the report too\n"
	"  -h, --help           this text\n"
	"  -V, --version        version\n"
	"\n"
	"Exit status: 0 done; 1 a check failed or a kernel did; 2 usage; 3 a bad model file;\n"
	"4 no usable GPU or driver; 5 cannot write; 130 interrupted, the trace is "
	"incomplete.\n";

enum {
	kAll = 256,
	kModel,
	kTokens,
	kExperts,
	kReps,
	kGpus,
	kCommSms,
	kSmMode,
	kSmSplit,
	kChunk,
	kPace,
	kSeed,
	kOnly,
	kSweep,
	kCheck,
	kReport,
	kGovernor,
	kResident,
	kReplay,
	kReplayRank
};

const option kLong[] = {
	{"all", no_argument, nullptr, kAll},
	{"output", required_argument, nullptr, 'o'},
	{"model", required_argument, nullptr, kModel},
	{"tokens", required_argument, nullptr, kTokens},
	{"experts", required_argument, nullptr, kExperts},
	{"reps", required_argument, nullptr, kReps},
	{"gpus", required_argument, nullptr, kGpus},
	{"comm-sms", required_argument, nullptr, kCommSms},
	{"sm-mode", required_argument, nullptr, kSmMode},
	{"sm-split", required_argument, nullptr, kSmSplit},
	{"chunk-tokens", required_argument, nullptr, kChunk},
	{"pace-gbps", required_argument, nullptr, kPace},
	{"seed", required_argument, nullptr, kSeed},
	{"only", required_argument, nullptr, kOnly},
	{"sweep-sms", optional_argument, nullptr, kSweep},
	{"check", no_argument, nullptr, kCheck},
	{"report", no_argument, nullptr, kReport},
	{"governor", no_argument, nullptr, kGovernor},
	{"resident", no_argument, nullptr, kResident},
	{"replay", required_argument, nullptr, kReplay},
	{"replay-rank", required_argument, nullptr, kReplayRank},
	{"help", no_argument, nullptr, 'h'},
	{"version", no_argument, nullptr, 'V'},
	{nullptr, 0, nullptr, 0},
};

const char *const kNames[] = {"attn", "dispatch", "mlp", "combine", "p2p", "chunk", "curves",
	"rows", "reduced", "modes", "sweep", "sizes", "parts", "governor", "resident"};

[[noreturn]] void bad(
	const std::string &option, const std::string &value, const std::string &rule)
{
	throw UsageError("--" + option + " " + value + ": " + rule);
}

/* strtoll and strtod take blanks, signs and hexadecimal too: nobody means them here. */
bool plain(const std::string &text)
{
	return text.find_first_not_of("0123456789.e-") == std::string::npos;
}

long long whole_number(
	const std::string &option, const std::string &text, long long least, long long most)
{
	errno = 0;
	char *end;
	long long value = strtoll(text.c_str(), &end, 10);
	if (text.empty() || !plain(text) || *end || errno || value < least || value > most)
		bad(option, text,
			"not a whole number from " + std::to_string(least) + " to " +
				std::to_string(most));
	return value;
}

/* Below, a repetition would take minutes. */
double rate(const std::string &option, const std::string &text)
{
	char *end;
	double value = strtod(text.c_str(), &end);
	if (text.empty() || !plain(text) || *end || !(value >= 0.01 && value <= 1e6))
		bad(option, text, "not a rate from 0.01 to 1000000");
	return value;
}

std::vector<std::string> split(const std::string &text, char separator)
{
	std::vector<std::string> parts;
	size_t begin = 0, end;
	while ((end = text.find(separator, begin)) != std::string::npos) {
		parts.push_back(text.substr(begin, end - begin));
		begin = end + 1;
	}
	parts.push_back(text.substr(begin));
	return parts;
}

SmMode sm_mode(const std::string &text)
{
	for (SmMode mode : {SmMode::none, SmMode::grid})
		if (text == sm_mode_name(mode))
			return mode;
	bad("sm-mode", text, "not one of none, grid");
}

void set_split(Options &o, const std::string &text)
{
	std::vector<std::string> parts = split(text, '+');
	if (parts.size() != 2)
		bad("sm-split", text, "not of the form COMPUTE+COMMUNICATION, such as 112+20");
	o.split.compute = (int)whole_number("sm-split", parts[0], 1, 1024);
	o.split.comm = (int)whole_number("sm-split", parts[1], 1, kMaxCtas);
}

void set_only(Options &o, const std::string &text)
{
	for (const std::string &name : split(text, ',')) {
		if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
			bad("only", name, "no such component or step; see --help");
		o.only.insert(name);
	}
}

void set_sweep(Options &o, const char *text)
{
	o.sweep_asked = true;
	if (!text)
		return;
	o.sweep.clear();
	for (const std::string &n : split(text, ','))
		o.sweep.push_back((int)whole_number("sweep-sms", n, 0, kMaxCtas));
}

void set_gpus(Options &o, const std::string &text)
{
	o.gpus = (int)whole_number("gpus", text, 1, kMaxRanks);
	if (o.gpus & (o.gpus - 1))
		bad("gpus", text, "the model's 8 groups of experts need 1, 2, 4 or 8");
}

void set_tokens(Options &o, const std::string &text)
{
	o.tokens = (int)whole_number("tokens", text, 128, 65536);
	if (o.tokens % 128)
		bad("tokens", text, "not a multiple of 128");
}

void apply(Options &o, int option, const char *value)
{
	switch (option) {
	case kAll:
		o.all = true;
		break;
	case 'o':
		o.output = value;
		break;
	case kModel:
		o.model = value;
		break;
	case kTokens:
		set_tokens(o, value);
		break;
	case kExperts:
		o.experts = (int)whole_number("experts", value, 1, 64);
		break;
	case kReps:
		o.reps = (int)whole_number("reps", value, 1, 100000);
		break;
	case kGpus:
		set_gpus(o, value);
		break;
	case kCommSms:
		o.split.comm = (int)whole_number("comm-sms", value, 1, kMaxCtas);
		break;
	case kSmMode:
		o.split.mode = sm_mode(value);
		break;
	case kSmSplit:
		set_split(o, value);
		break;
	case kChunk:
		o.chunk_tokens = (int)whole_number("chunk-tokens", value, 1, 4096);
		break;
	case kPace:
		o.pace_gbps = rate("pace-gbps", value);
		break;
	case kSeed:
		o.seed = (uint64_t)whole_number("seed", value, 0, 1000000000);
		break;
	case kOnly:
		set_only(o, value);
		break;
	case kSweep:
		set_sweep(o, value);
		break;
	case kCheck:
		o.action = Action::check;
		break;
	case kReport:
		o.parts = true;
		break;
	case kGovernor:
		o.governor = true;
		break;
	case kResident:
		o.resident = true;
		break;
	case kReplay:
		o.replay.push_back(value);
		break;
	case kReplayRank:
		o.replay_rank = (int)whole_number("replay-rank", value, 0, 4096);
		break;
	case 'h':
		o.action = Action::help;
		break;
	case 'V':
		o.action = Action::version;
		break;
	default:
		throw UsageError("try --help");
	}
}

} // namespace

Options parse_options(int argc, char **argv)
{
	Options o;
	int option;
	while ((option = getopt_long(argc, argv, "o:hV", kLong, nullptr)) != -1)
		apply(o, option, optarg);
	if (optind < argc)
		throw UsageError(std::string("unexpected argument '") + argv[optind] + "'");
	if (o.replay_rank > 0 && o.replay.empty())
		bad("replay-rank", std::to_string(o.replay_rank), "there is no --replay");
	return o;
}

const char *usage()
{
	return kUsage;
}

} // namespace bench
