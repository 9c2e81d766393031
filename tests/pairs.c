/* Every two options of every command together: no pair of them may crash, hang, take all memory, fail
 * without a word or give other bytes when run again.
 *
 * The options are those that --help shows; their values stand in a table here, and an option that the
 * table lacks is a failure. pairs-cover.h says which runs show all pairs. They are those of each option's
 * first values; every other value runs alone and once in company, or with PIPESIM_PAIRS=full in all its
 * pairs too. With that, or PIPESIM_LONG=yes, each pair that is refused runs by itself, and commands that read
 * what compare reads run their pairs too; else each of their options runs alone and in company. All schedules then take
 * part in all pairs; else one of each sort, and all of them beside each option alone. Without PIPESIM_LONG options of
 * compare are paired in sweep with its own alone, as points run as rows of compare do, and a part of all pairs runs in
 * the commands that have most. */
#include "pairs-cover.h"
#include "pairs-program.h"
#include <glib.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGAIN        8 /* every so many runs one is repeated */
#define OWN_LEFT_OUT 4 /* pairs with an option that compare lacks, for each that is shown */

/* Values of an option: arguments, with what the option is nothing without. The likeliest to go
 * along with others stand first. */
typedef struct {
	const char *name;
	const char *values[6];
} Option;

static const Option options[] = {
	{"pp", {"--pp=8", "--pp=3"}},
	{"microbatches", {"--microbatches=20", "--microbatches=9"}},
	{"chunks", {"--chunks=2", "--chunks=3"}},
	{"group", {"--group=4", "--group=2"}},
	{"overlap-fb", {"--schedule=interleaved-1f1b --group=10 --overlap-fb",
			       "--schedule=interleaved-1f1b --runtime=megatron --overlap-fb",
			       "--overlap-fb"}},
	{"delay-wgrad",
		{"--schedule=interleaved-1f1b --group=10 --overlap-fb --runtime=megatron "
		 "--delay-wgrad=0.2",
			"--delay-wgrad=1"}},
	{"pipelines", {"--pipelines=2", "--pipelines=4"}},
	{"max-activations", {"--max-activations=12", "--max-activations=3.5"}},
	{"schedule", {"--schedule=dualpipe", "--schedule=schedules/dualpipe-pp4-mb8.csv",
			     "--schedule=input/messages.csv",
			     "--schedule=zb-auto,interleaved-1f1b:3,chimera",
			     "--schedule=input/deadlock.csv"}},
	{"format", {"--format=json", "--format=csv", "--format=jsonl", "--format=text"}},
	{"output", {"--output=out.csv", "--output=out.json", "--output=no/such.csv"}},
	{"communicators",
		{"--runtime=pytorch-2.15 --communicators=edge",
			"--runtime=single --communicators=pair", "--communicators=pair"}},
	{"no-overlap-p2p", {"--runtime=megatron --no-overlap-p2p", "--no-overlap-p2p"}},
	{"overlap-p2p-warmup-flush",
		{"--runtime=megatron --overlap-p2p-warmup-flush",
			"--runtime=megatron --overlap-p2p-warmup-flush --communicators=rank"}},
	{"no-deallocate-outputs", {"--runtime=megatron --no-deallocate-outputs"}},
	{"host-time", {"--runtime=megatron --host-time=0.5", "--host-time=1"}},
	{"no-batch-p2p-sync", {"--runtime=megatron --host-time=0.5 --no-batch-p2p-sync"}},
	{"defer-recv",
		{"--runtime=pytorch-2.15 --communicators=edge --defer-recv", "--defer-recv"}},
	{"max-sends", {"--runtime=pytorch-2.15 --max-sends=1", "--max-sends=4"}},
	{"active-stages", {"--runtime=pytorch-2.15 --active-stages=1", "--active-stages=2"}},
	{"unshard-ahead", {"--runtime=pytorch-2.15 --unshard-ahead=auto",
				  "--runtime=pytorch-2.15 --unshard-ahead=1,2,1,2,1,2,1,2"}},
	{"defer-reduce-wait", {"--runtime=pytorch-2.15 --defer-reduce-wait"}},
	{"no-check", {"--no-check"}},
	{"runtime", {"--runtime=pytorch-2.11", "--runtime=deepseek", "--runtime=single",
			    "--runtime=native", "--runtime=async", "--runtime=pytorch-2.15"}},
	{"compare-at", {"--compare-at=stages", "--compare-at=ranks"}},
	{"sort", {"--sort=memory", "--sort=makespan", "--sort=name"}},
	{"full", {"--full"}},
	{"brief", {"--brief"}},
	{"timeline", {"--timeline=-", "--timeline=t.svg", "--timeline=t.txt"}},
	{"critical-path", {"--critical-path"}},
	{"window",
		{"--timeline=w.svg --window=3:9", "--timeline=- --window=:5", "--window=3:9"}},
	{"ranks", {"--timeline=r.svg --ranks=1:2", "--timeline=- --ranks=3", "--ranks=9"}},
	{"with-memory", {"--timeline=w.svg --with-memory", "--with-memory"}},
	{"keep-gnuplot", {"--keep-gnuplot"}},
	{"with-speed", {"--timeline=w.svg --with-speed", "--with-speed"}},
	{"title", {"--timeline=i.svg --title=one", "--title=one"}},
	{"size", {"--timeline=s.svg --size=900x500", "--timeline=s.svg --size=700",
			 "--timeline=s.svg --size=100x100"}},
	{"font-size", {"--timeline=f.svg --font-size=20", "--timeline=f.svg --font-size=5"}},
	{"theme", {"--timeline=e.svg --theme=dark", "--timeline=e.svg --theme=print",
			  "--timeline=- --theme=light"}},
	{"chrome-trace", {"--chrome-trace=c.json"}},
	{"report", {"--report=r.html", "--report=r.svg"}},
	{"times", {"--times=F=1,I=1.3,W=0.8,FB=2.4,P2P=0.1", "--times=F=0,I=0,W=0,P2P=0.5",
			  "--times=F=1.2,B=2.5"}},
	{"model-times", {"--model-times=F=4,B=8.5", "--model-times=F=4,I=4,W=3,FB=10,P2P=0.1"}},
	{"trace", {"--trace=input/trace-small.csv"}},
	{"layers", {"--trace=input/trace-small.csv --layers=4", "--layers=2"}},
	{"split", {"--layers=3 --split=layers", "--split=layers", "--split=even"}},
	{"costs", {"--costs=input/costs-plain.ini"}},
	{"pair-time", {"--trace=input/trace-small.csv --pair-time=phases", "--pair-time=sum"}},
	{"stage-scale", {"--stage-scale=0=1.3,2=0.5"}},
	{"stage-times", {"--stage-times=input/stages.csv"}},
	{"slow-rank", {"--slow-rank=1=1.1"}},
	{"slices", {"--slices=2"}},
	{"slice-lengths", {"--slice-lengths=work"}},
	{"slice-cost", {"--slice-cost=b=1,a=0.01"}},
	{"context-exchange", {"--context-exchange"}},
	{"copy-engines", {"--copy-engines=2"}},
	{"offload-bandwidth",
		{"--schedule=po-h --offload-bandwidth=1GB/s --activation-bytes=1MB"}},
	{"offload-chunks", {"--schedule=po-h --offload-chunks=1"}},
	{"offload-fraction", {"--offload-fraction=0.5 --times=F=1,B=2,COPY=1"}},
	{"offload-inflight",
		{"--offload-fraction=0.5 --offload-inflight=1 --times=F=1,B=2,COPY=1"}},
	{"offload-delta", {"--offload-fraction=0.5 --offload-delta=1GB --times=F=1,B=2,COPY=1 "
			   "--activation-bytes=1GB"}},
	{"recompute-as-ops",
		{"--model=llama-3-8b --recompute=full --recompute-as-ops --schedule=1f1b"}},
	{"recompute-chunks", {"--schedule=gis-h --recompute-chunks=1"}},
	{"op-times", {"--op-times=input/lengths.csv", "--op-times=input/op-times.csv"}},
	{"speed", {"--speed=1=0.97"}},
	{"power", {"--costs=input/costs-power.ini --power=measured",
			  "--costs=input/costs-power.ini --power=off", "--power=off"}},
	{"power-limit",
		{"--costs=input/costs-power.ini --power-limit=600W", "--power-limit=600"}},
	{"cpu-launch",
		{"--costs=input/costs-host.ini --cpu-launch=measured",
			"--costs=input/costs-host.ini --cpu-launch=off", "--cpu-launch=off"}},
	{"step-pause", {"--costs=input/costs-power.ini --step-pause=20ms", "--step-pause=1"}},
	{"cold-start", {"--costs=input/costs-power.ini --cold-start", "--cold-start"}},
	{"activation-bytes", {"--activation-bytes=1MB+3MB", "--activation-bytes=1GB"}},
	{"parameter-bytes", {"--parameter-bytes=20GB"}},
	{"unshard-time",
		{"--runtime=pytorch-2.15 --unshard-time=0.4",
			"--runtime=pytorch-2.11 --unshard-time=2", "--unshard-time=1"}},
	{"post-validation", {"--post-validation", "--schedule=zb-v --post-validation"}},
	{"optimizer-time", {"--post-validation --optimizer-time=0.5", "--optimizer-time=1"}},
	{"reduce-time", {"--runtime=pytorch-2.15 --reduce-time=3ms"}},
	{"unshard-bytes", {"--runtime=pytorch-2.15 --unshard-bytes=20GB"}},
	{"shard-bandwidth",
		{"--runtime=pytorch-2.15 --unshard-bytes=1GB --shard-bandwidth=100GB/s",
			"--runtime=pytorch-2.15 --model=llama-3-8b --zero=3 --dp=8 "
			"--shard-bandwidth=50GB/s",
			"--shard-bandwidth=1GB/s"}},
	{"stage-bytes", {"--stage-bytes=input/stage-bytes.csv"}},
	{"model", {"--model=llama-3-8b", "--model=input/model-config.json",
			  "--model=deepseek-v3"}},
	{"seq", {"--model=llama-3-8b --seq=8192", "--seq=8192"}},
	{"microbatch-size", {"--model=llama-3-8b --microbatch-size=2"}},
	{"tp", {"--model=llama-3-8b --tp=4", "--model=llama-3-8b --tp=3"}},
	{"cp", {"--model=llama-3-8b --cp=2"}},
	{"ep", {"--model=deepseek-v3 --ep=8 --dp=8", "--model=llama-3-8b --ep=2"}},
	{"expert-tp", {"--model=deepseek-v3 --expert-tp=2 --dp=2"}},
	{"dp", {"--model=llama-3-8b --dp=8"}},
	{"sequence-parallel", {"--model=llama-3-8b --tp=2 --sequence-parallel"}},
	{"cp-comm", {"--model=llama-3-8b --cp=2 --cp-comm=a2a"}},
	{"recompute", {"--model=llama-3-8b --recompute=mlp+layernorm",
			      "--model=llama-3-8b --recompute=every=3",
			      "--model=llama-3-8b --recompute=first=2",
			      "--model=llama-3-8b --pp=2 --recompute=first=2,0"}},
	{"optimizer", {"--model=llama-3-8b --optimizer=adam-bf16"}},
	{"modules", {"--model=llama-3-8b --modules=pytorch"}},
	{"zero", {"--model=llama-3-8b --zero=0", "--model=llama-3-8b --zero=fsdp"}},
	{"precision", {"--model=llama-3-8b --precision=fp8-mx"}},
	{"attention", {"--model=llama-3-8b --attention=unfused"}},
	{"loss", {"--model=llama-3-8b --loss=te"}},
	{"unfused", {"--model=llama-3-8b --unfused=gradients"}},
	{"expert-imbalance", {"--model=deepseek-v3 --expert-imbalance=1.2"}},
	{"workspace", {"--model=llama-3-8b --workspace=115MB+270MB"}},
	{"layout", {"--model=llama-3-8b --layout=Et*8|(t*8|)*2t*8L", "--layout=EtL",
			   "--pp=2 --model=input/model-config.json "
			   "--layout=input/modules.json"}},
	{"device", {"--model=llama-3-8b --device=h100", "--device=h100",
			   "--model=llama-3-8b --device=../devices/b200.ini"}},
	{"time-factors", {"--model=llama-3-8b --device=b200 --time-factors=1.1,0.9",
				 "--time-factors=2"}},
	{"mfu", {"--model=llama-3-8b --device=b200 --mfu=0.3", "--mfu=2"}},
	{"dp-bandwidth", {"--model=llama-3-8b --device=h100 --dp=8 --dp-bandwidth=50GB/s"}},
	{"overlap-grad-reduce",
		{"--model=llama-3-8b --device=h100 --dp=8 --dp-bandwidth=50GB/s "
		 "--overlap-grad-reduce"}},
	{"measured", {"--model=llama-3-8b --measured=input/steps.csv"}},
	{"tp-overlap", {"--model=llama-3-8b --device=h100 --tp=8 --dp=2 --tp-overlap"}},
	{"vocab-parallel", {"--model=llama-3-8b --device=h100 --vocab-parallel"}},
	{"encoder-stages", {"--model=input/vision.ini --device=h100 --encoder-stages=1"}},
	{"images", {"--model=input/vision.ini --device=h100 --encoder-stages=1 --images=2"}},
	{"image-patches", {"--model=input/vision.ini --device=h100 --encoder-stages=1 "
			   "--image-patches=64"}},
	{"ep-overlap", {"--model=mixtral-8x7b --device=h100 --ep=8 --dp=8 --ep-overlap"}},
	{"dispatcher",
		{"--model=mixtral-8x7b --device=h100 --ep=8 --dp=8 --dispatcher=deepep"}},
	{"node-bandwidth",
		{"--model=llama-3-8b --device=gb200 --dp=8 --node-bandwidth=100GB/s"}},
	{"cuda-graph", {"--model=llama-3-8b --device=h100 --cuda-graph"}},
	{"graphs", {"--model=mixtral-8x7b --device=h100 --ep=8 --dp=8 --graphs=layers"}},
	/* of plan */
	{"gpus", {"--gpus=16", "--gpus=7"}},
	{"gpus-per-node", {"--gpus-per-node=4"}},
	{"memory", {"--memory=200GiB", "--memory=1GB"}},
	{"reserve", {"--reserve=3GiB", "--reserve=0"}},
	{"global-batch", {"--global-batch=16"}},
	{"explain", {"--explain=1", "--explain=10"}},
	{"memory-model", {"--memory-model=megatron", "--memory-model=tensors"}},
	{"terms", {"--terms"}},
	{"memory-limit",
		{"--activation-bytes=1MB --memory-limit=20MB",
			"--activation-bytes=1MB --memory-limit=1", "--memory-limit=1GB"}},
	{"message-bytes", {"--message-bytes=1MB --link-bandwidth=1GB/s", "--message-bytes=40MB",
				  "--message-bytes=0 --link-latency=1us"}},
	{"link-latency",
		{"--link-latency=5us",
			"--message-bytes=1MB --link-bandwidth=1GB/s --link-latency=1ms"}},
	{"link-bandwidth",
		{"--message-bytes=32MiB --link-bandwidth=400Gbit/s", "--link-bandwidth=1GB/s"}},
	{"topology", {"--message-bytes=8MB --topology=input/topology-nics.ini",
			     "--message-bytes=8MB --topology=input/topology-shards.ini "
			     "--runtime=pytorch-2.15 --unshard-bytes=1GB",
			     "--message-bytes=8MB --topology=input/topology.ini",
			     "--topology=input/topology.ini"}},
	{"interference", {"--message-bytes=32MiB --link-bandwidth=40GB/s --interference=1.08",
				 "--message-bytes=32MiB --link-bandwidth=40GB/s "
				 "--interference=measured"}},
	{"samples", {"--samples=5 --jitter=0.05", "--samples=3"}},
	{"seed", {"--samples=4 --jitter=0.03 --seed=7"}},
	{"jitter", {"--samples=6 --jitter=0.1", "--jitter=0.1"}},
	/* of export */
	{"with-comms", {"--with-comms"}},
	{"framework", {"--framework=pytorch", "--framework=pipesim", "--framework=megatron"}},
	/* of list */
	{"names", {"--names"}},
	/* of sweep */
	{"resume", {"--output=out.csv --resume", "--resume"}},
	{"shard", {"--shard=1/2", "--shard=2/2"}},
	{"threads", {"--threads=1", "--threads=3"}},
	{"pareto", {"--pareto=p.svg"}},
	{"heat-map", {"--pp=4,8 --microbatches=8,16 --heat-map=h.svg", "--heat-map=h.svg"}},
	{"winners", {"--pp=4,8 --microbatches=8,16 --winners=w.svg", "--winners=w.svg"}},
	{"lines", {"--pp=4,8 --lines=l.svg", "--lines=l.svg"}},
	{"metric", {"--pp=4,8 --lines=m.svg --metric=makespan", "--metric=bubble"}},
	/* of optimize */
	{"placement", {"--placement=v", "--placement=bidirectional --pipelines=2",
			      "--placement=interleaved --chunks=3", "--placement=wave"}},
	/* Moves of percentiles are samples, a second of them: beside all others only what is begun from is looked at. */
	{"curve", {"--pp=3 --curve=memory --moves=600", "--curve=time"}},
	{"order", {"--order=microbatches --lengths=input/sequences.csv --moves=600",
			  "--order=both --op-times=input/lengths.csv --moves=600",
			  "--order=ops", "--order=microbatches"}},
	{"lengths", {"--order=microbatches --lengths=input/sequences.csv --moves=600",
			    "--lengths=input/lengths.csv"}},
	{"pack", {"--lengths=input/sequences.csv --pack=16384 --moves=600",
			 "--lengths=input/sequences.csv --pack=9000", "--pack=1000"}},
	{"objective",
		{"--samples=5 --jitter=0.05 --moves=0 --objective=median", "--objective=p95",
			"--samples=5 --jitter=0.05 --objective=median"}},
	{"full-backward", {"--full-backward"}},
	{"time", {"--time=1us", "--time=0"}},
	{"moves", {"--moves=1000", "--moves=0"}},
	{"explain-bound", {"--explain-bound"}},
	/* of calibrate */
	{"load-mode", {"--load-mode=sustained", "--load-mode=synced"}},
	{"impl", {"--impl=attn=flash", "--impl=mlp=cublas"}},
	{"sm-split", {"--sm-split=8+124"}},
	{"receive-sms", {"--receive-sms=16"}},
	{"map", {"--map=input/costs-plain.ini"}},
	{"picture", {"--picture=p.svg"}},
	{"figures", {"--figures"}},
	{"step", {"--step=2", "--step=9"}},
	{"from-megatron", {"--from-megatron=input/frameworks/train.sh",
				  "--from-megatron=input/frameworks/model.yaml --device=h100",
				  "--from-megatron=input/costs-plain.ini"}},
	{"from-torchtitan", {"--from-torchtitan=input/frameworks/titan.toml",
				    "--from-torchtitan=input/frameworks/train.sh"}},
	/* of all */
	{"job", {"--job=input/job.ini", "--job=input/costs-plain.ini"}},
	{"write-job", {"--write-job=w.ini", "--write-job=no/such.ini"}},
	{"recorded-schedule", {"--recorded-schedule=1f1b", "--recorded-schedule=zb-h1"}},
	{"phase-times", {"--phase-times=F_attn=2,B_mlp=3", "--phase-times=F_x=2"}},
	{"chunk-layers", {"--chunk-layers=2+3", "--chunk-layers=0", "--chunk-layers=+"}},
	{"early-attn-release", {"--early-attn-release"}},
	{"prompt-tokens", {"--prompt-tokens=20000,70000", "--prompt-tokens=1"}},
	{"chunk-tokens", {"--chunk-tokens=16384,8192", "--chunk-tokens=1"}},
	{"chunking", {"--chunking=best,sglang", "--chunking=fixed,slow"}},
	{"chunk-smoothing", {"--chunk-smoothing=0.65", "--chunk-smoothing=2"}},
	{"min-chunk", {"--min-chunk=1024", "--min-chunk=0"}},
	{"chunk-align", {"--chunk-align=128", "--chunk-align=100000"}},
	{"prefill-times", {"--prefill-times=b=0.01,c=3,send=0.5,send-token=1e-4",
				  "--prefill-times=input/prefill.ini", "--prefill-times=x"}},
	{"requests", {"--requests=3", "--requests=0"}},
	{"arrival-rate", {"--arrival-rate=0.5", "--arrival-rate=0"}},
	{"arrivals", {"--arrivals=input/arrivals.csv", "--arrivals=input/no-such.csv"}},
	{"in-flight", {"--in-flight=2", "--in-flight=100"}},
};

/* What every run of a command has, and what may follow its options: one of these always does. */
typedef struct {
	const char *name;
	const char *base;
	guint values; /* of each option whose pairs are run, but for PIPESIM_PAIRS=full: few where options are many */
	guint left_out; /* so many pairs of options of compare for each that is shown: other commands show them, or CI */
	const char *operands[6];
} Command;

/* What takes longest stands first. Where values have a model of their own, that of the last counts. */
static const Command commands[] = {
	{"compare", "--pp=4 --microbatches=8", 1, 6, {"", "--schedule=all"}},
	{"optimize", "--pp=4 --microbatches=8 --moves=500", 1, 10,
		{"", "schedules/dualpipe-pp4-mb8.csv"}},
	{"plan",
		"--model=llama-3-8b --gpus=8 --pp=2 --memory=200GiB --global-batch=8 "
		"--schedule=1f1b",
		1, 10, {""}},
	{"sweep", "--microbatches=8 --pp=4", 1, G_MAXUINT,
		{"", "--pp=2:4", "--times=F=1:2,P2P=0/0.1", "--schedule=all"}},
	{"diff", "--pp=4 --microbatches=8", 0, 0,
		{"1f1b zb-h1", "dualpipe schedules/dualpipe-pp4-mb8.csv", "1f1b gpipe"}},
	{"steady", "--pp=4", 0, 0,
		{"1f1b dualpipe", "zb-auto interleaved-1f1b chimera-doubling"}},
	{"export", "--pp=4 --microbatches=8 --schedule=1f1b", 0, 0, {""}},
	{"explain", "", 0, 0, {"dualpipe", "zb-auto", "interleaved-1f1b"}},
	{"calibrate", "", 2, 0, {"input/trace-small.csv"}},
	{"validate", "", 5, 0,
		{"schedules/dualpipe-pp4-mb8.csv", "input/messages.csv", "input/missing-op.csv",
			"input/no-such-file.csv"}},
	{"diagnose", "", 2, 4, {"input/run/ops.csv", "input/run/rank0.csv"}},
	{"list", "", 1, 0, {""}},
	{"model", "--pp=4 --model=llama-3-8b", 2, 4, {""}},
	{"phases", "", 2, 0,
		{"--phase-times=F_attn=1,B_attn=2,W_attn=1", "--trace=input/trace-small.csv"}},
	{"prefill", "--pp=4", 1, 0,
		{"--prompt-tokens=65536 --prefill-times=a=3e-7,b=0.006,c=26,gamma=0.0005",
			"--prompt-tokens=65536 --model=llama-3-8b --device=h100"}},
};

/* One schedule of each sort takes part in all pairs; all of them with one option each, as the operand. */
static const char one_of_each[] =
	"--schedule=gpipe,1f1b,interleaved-1f1b,seq1f1b,vocab-1,chimera,hanayo,zb-h1,zb-v,"
	"v-half-vocab-2,interleaved-zb,gis-h,po-h,dualpipe";

/* Of all processes: one for each command, as many at a time as there are processors. */
typedef struct {
	guint checks, failures;
} Counts;
static Counts *counts;
static const char *sources;
static char *scratch;
static gboolean full, every; /* PIPESIM_PAIRS=full, PIPESIM_LONG */

static void G_GNUC_PRINTF(2, 3) count_check(gboolean failed, const char *format, ...)
{
	va_list arguments;

	__atomic_add_fetch(&counts->checks, 1, __ATOMIC_RELAXED);
	if (!failed)
		return;
	__atomic_add_fetch(&counts->failures, 1, __ATOMIC_RELAXED);
	va_start(arguments, format);
	g_autofree char *text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	printf("FAIL: %s\n", text);
	fflush(stdout); /* what a fork would print again */
}

/* Of a set of options -------------------------------------------------------------------- */

typedef struct {
	const Command *command;
	char *folder;
	GArray *items; /* Item */
	guint values;  /* of an option that are tried */
	guint n_runs, n_taken;
} Work;

static void add_words(GPtrArray *argv, const char *words)
{
	g_auto(GStrv) split = g_strsplit(words, " ", 0);

	for (guint i = 0; split[i] != NULL; i++)
		g_ptr_array_add(argv, g_strdup(split[i]));
}

/* The operand, if none is in @row, is the first. */
static char **command_line(const Work *work, const guint *row, guint n)
{
	GPtrArray *argv = g_ptr_array_new();
	gboolean operand = FALSE;

	g_ptr_array_add(argv, g_strdup("pipesim"));
	g_ptr_array_add(argv, g_strdup(work->command->name));
	add_words(argv, work->command->base);
	if (g_strv_contains(work->command->operands, "--schedule=all") && !full && !every)
		add_words(argv, one_of_each);
	for (guint i = 0; i < n; i++) {
		const Item *item = &g_array_index(work->items, Item, row[i]);

		operand |= item->option == 0;
		add_words(argv, item->words);
	}
	if (!operand)
		add_words(argv, work->command->operands[0]);
	g_ptr_array_add(argv, NULL);
	return (char **)g_ptr_array_free(argv, FALSE);
}

static char *fault_of(const Work *work, const char *line, const PairsResult *result)
{
	const char *name = work->command->name;
	int status;

	if (!WIFEXITED(result->status))
		return g_strdup_printf("signal %d", WTERMSIG(result->status));
	status = WEXITSTATUS(result->status);
	if (strstr(result->err, "Sanitizer") != NULL ||
		strstr(result->err, "runtime error") != NULL)
		return g_strdup("a sanitizer's report");
	if (status > 5)
		return g_strdup_printf("exit status %d", status);
	if (status == 1 && strcmp(name, "diff") != 0 && strcmp(name, "validate") != 0 &&
		strstr(line, "--memory") == NULL)
		return g_strdup("exit status 1, without a memory limit");
	if (status == 4 && strstr(line, ".svg") == NULL)
		return g_strdup("exit status 4, without a picture");
	if (status == 5 && strstr(line, "no/such") == NULL)
		return g_strdup("exit status 5, though everything can be written");
	if (status > 1 && result->err[0] == '\0')
		return g_strdup_printf("exit status %d without a word", status);
	if ((status == 2 || status == 3) && (result->out[0] != '\0' || result->left))
		return g_strdup_printf("exit status %d, and yet something was written", status);
	if (status == 0 && result->out[0] == '\0' && !result->left)
		return g_strdup("nothing was written");
	return NULL;
}

/* Takes away the name of the job, which JSON has where one was given. */
static void forget_job(char *text)
{
	char *begin = strstr(text, ", \"job\": \""), *end;

	if (begin == NULL || (end = strchr(begin + strlen(", \"job\": \""), '"')) == NULL)
		return;
	memmove(begin, end + 1, strlen(end + 1) + 1);
}

/* What is wrong with the job that @argv writes: it asks for the same bytes. NULL: nothing. */
static char *check_job(
	const Work *work, char **argv, const char *line, const PairsResult *result)
{
	g_autofree char *path = g_strconcat(work->folder, ".ini", NULL);
	g_autofree char *write = g_strconcat("--write-job=", path, NULL);
	const guint n = g_strv_length(argv);
	g_autofree const char **writing = g_new0(const char *, n + 2);
	const char *reading[] = {"pipesim", path, NULL};
	PairsResult written = {0}, read = {0};
	/* These name the command that made them. */
	const gboolean names = strstr(line, ".svg") != NULL || strstr(line, ".html") != NULL ||
			       strstr(line, "--chrome-trace") != NULL;
	char *fault = NULL;

	memcpy(writing, argv, n * sizeof *argv);
	memmove(writing + 3, writing + 2, (n - 2) * sizeof *argv); /* behind the command */
	writing[2] = write;
	pairs_run((char **)writing, work->folder, &written);
	pairs_run((char **)reading, work->folder, &read);
	forget_job(result->out);
	forget_job(result->files->str);
	forget_job(written.out);
	forget_job(written.files->str);
	forget_job(read.out);
	forget_job(read.files->str);
	if (written.status != result->status || strcmp(written.out, result->out) != 0 ||
		(!names && strcmp(written.files->str, result->files->str) != 0))
		fault = g_strdup_printf(
			"with --write-job it gives other bytes: %.200s", written.err);
	else if (read.status != result->status || strcmp(read.out, result->out) != 0 ||
		 (!names && strcmp(read.files->str, result->files->str) != 0))
		fault = g_strdup_printf("its job gives other bytes: %.200s", read.err);
	g_unlink(path);
	pairs_result_clear(&written);
	pairs_result_clear(&read);
	return fault;
}

/* Whether the program took @row; what is wrong with its answer is a failure. *why: what it said, if asked for. */
static gboolean check_row(gpointer data, const guint *row, guint n, char **why)
{
	Work *work = data;
	g_auto(GStrv) argv = command_line(work, row, n);
	g_autofree char *line = g_strjoinv(" ", argv + 1);
	g_autofree char *fault = NULL;
	PairsResult result = {0}, again = {0};
	gboolean taken;

	pairs_run(argv, work->folder, &result);
	fault = fault_of(work, line, &result);
	taken = WIFEXITED(result.status) && WEXITSTATUS(result.status) != 2 &&
		WEXITSTATUS(result.status) != 3;
	work->n_runs++;
	if (fault == NULL && taken && work->n_taken++ % AGAIN == 0) {
		pairs_run(argv, work->folder, &again);
		if (result.status != again.status || strcmp(result.out, again.out) != 0 ||
			strcmp(result.err, again.err) != 0 ||
			!g_string_equal(result.files, again.files))
			fault = g_strdup("run again it gives other bytes");
	}
	/* Every value of an option once where most are, and some in company; what failed has no job. */
	if (fault == NULL && taken && WEXITSTATUS(result.status) <= 1 &&
		((n == 1 && strcmp(work->command->name, "compare") == 0) ||
			work->n_taken % AGAIN == 1) &&
		strstr(line, "--job=") == NULL && strstr(line, "--write-job=") == NULL)
		fault = check_job(work, argv, line, &result);
	count_check(fault != NULL, "pipesim %s: %s: %.300s", line, fault, result.err);
	if (why != NULL)
		*why = g_steal_pointer(&result.err);
	pairs_result_clear(&result);
	pairs_result_clear(&again);
	return taken;
}

/* What a command has ---------------------------------------------------------------------- */

static void add_values(Work *work, guint option, const char *const values[], guint left_out)
{
	for (guint i = 0; i < G_N_ELEMENTS(options[0].values) && values[i] != NULL; i++) {
		const Item item = {
			option, values[i], option == 0 || i < work->values, left_out};

		g_array_append_val(work->items, item);
	}
}

/* Whether @help shows --@name, but for what says where an answer goes: each command writes its own. */
static gboolean is_of_compare(const char *help, const char *name)
{
	g_autofree char *with = g_strdup_printf("--%s=", name);
	g_autofree char *flag = g_strdup_printf("--%s ", name);

	return strcmp(name, "output") != 0 && strcmp(name, "format") != 0 &&
	       (strstr(help, with) != NULL || strstr(help, flag) != NULL);
}

/* The options of --help, "  -p, --pp=N  pipeline ranks", and their values. */
static void find_options(Work *work)
{
	const char *argv[] = {"pipesim", work->command->name, "--help", NULL};
	const char *other[] = {"pipesim", "compare", "--help", NULL};
	const gboolean all = full || every;
	g_auto(GStrv) lines = NULL;
	PairsResult help = {0}, compare = {0};

	pairs_run((char **)argv, work->folder, &help);
	pairs_run((char **)other, work->folder, &compare);
	lines = g_strsplit(help.out, "\n", 0);
	for (guint i = 0; lines[i] != NULL; i++) {
		const char *dashes = strstr(lines[i], "--");
		g_autofree char *name = NULL;
		guint found = 0;

		if (!g_str_has_prefix(lines[i], "  -") || dashes == NULL ||
			dashes > lines[i] + 6)
			continue;
		name = g_strndup(dashes + 2, strcspn(dashes + 2, "= "));
		if (strcmp(name, "help") == 0 || strcmp(name, "version") == 0)
			continue;
		while (found < G_N_ELEMENTS(options) && strcmp(options[found].name, name) != 0)
			found++;
		if (found < G_N_ELEMENTS(options)) {
			add_values(work, found + 1, options[found].values,
				all                                ? 0
				: is_of_compare(compare.out, name) ? work->command->left_out
								   : OWN_LEFT_OUT);
			continue;
		}
		count_check(TRUE, "--%s of %s has no values in tests/pairs.c", name, argv[1]);
	}
	pairs_result_clear(&help);
	pairs_result_clear(&compare);
}

/* The last file that @words name; NULL: none. */
static const char *find_file(const char *words)
{
	const char *found = NULL;

	for (const char *p = words; *p != '\0'; p++)
		if (g_str_has_prefix(p, "input/") || g_str_has_prefix(p, "schedules/"))
			found = p;
	return found;
}

static gboolean has_option(const Work *work, const char *name)
{
	for (guint i = 0; i < work->items->len; i++) {
		const guint option = g_array_index(work->items, Item, i).option;

		if (option > 0 && strcmp(options[option - 1].name, name) == 0)
			return TRUE;
	}
	return FALSE;
}

/* Whether a copy of the file that @item names, as @name, is what it was after a run that is to write there, as
 * "--@writer=@target" says. */
static void check_input(
	Work *work, const Item *item, const char *name, const char *writer, const char *target)
{
	const char *from = find_file(item->words);
	const gsize length = strcspn(from, " ,");
	g_autofree char *path = g_strndup(from, length), *text = NULL;
	g_autofree char *there = g_build_filename(work->folder, path, NULL);
	g_autofree char *whole = g_build_filename(work->folder, name, NULL);
	g_autofree char *words = g_strdup_printf("%.*s./%s%s --%s=%s",
		(int)(from - item->words), item->words, name, from + length, writer, target);
	const Item own = {item->option, words, TRUE, 0};
	Work one = *work;
	PairsResult result = {0};

	if (!g_file_get_contents(there, &text, NULL, NULL))
		return;
	g_file_set_contents(whole, text, -1, NULL);
	one.items = g_array_new(FALSE, FALSE, sizeof(Item));
	g_array_append_val(one.items, own);
	g_auto(GStrv) argv = command_line(&one, (const guint[]){0}, 1);
	g_autofree char *line = g_strjoinv(" ", argv + 1);
	g_autofree char *kept = g_strdup_printf("%s\n%s", whole, text);
	pairs_run(argv, work->folder, &result);
	count_check(strstr(result.files->str, kept) == NULL,
		"pipesim %s: an input was written over", line);
	pairs_result_clear(&result);
	g_array_unref(one.items);
}

/* Whatever reads a file, and whatever writes there: the file stays. A plan writes into a folder. */
static void check_inputs(Work *work)
{
	static const char *const writers[] = {"output", "report", "chrome-trace"};
	static const char *const written[] = {
		"plan.json", "layout.txt", "command.txt", "schedule.csv", "timeline.json"};
	const gboolean plan = strcmp(work->command->name, "plan") == 0;
	guint turn = 0;

	for (guint i = 0; i < work->items->len; i++) {
		const Item *item = &g_array_index(work->items, Item, i);
		const char *from = find_file(item->words);
		const char *point = from != NULL ? strchr(from, '.') : NULL;
		g_autofree char *name = NULL, *d = NULL;

		if (point == NULL)
			continue;
		name = g_strdup_printf("x%.*s", (int)strcspn(point, " ,"), point);
		for (guint w = 0; w < G_N_ELEMENTS(writers); w++)
			if ((full || (i + w) % G_N_ELEMENTS(writers) == 0) &&
				has_option(work, writers[w]))
				check_input(work, item, name, writers[w], name);
		if (!plan)
			continue;
		d = g_build_filename(work->folder, "d", NULL);
		g_mkdir(d, 0777);
		g_free(name);
		name = g_strconcat("d/", written[turn++ % G_N_ELEMENTS(written)], NULL);
		check_input(work, item, name, "output", "d");
	}
}

static void check_command(const Command *command)
{
	static const char *const inputs[][2] = {
		{"tests/input", "input"}, {"schedules", "schedules"}, {"traces", "traces"}};
	Work work = {.command = command, .items = g_array_new(FALSE, FALSE, sizeof(Item))};

	work.folder = g_build_filename(scratch, work.command->name, NULL);
	g_mkdir(work.folder, 0777);
	for (guint i = 0; i < G_N_ELEMENTS(inputs); i++) {
		g_autofree char *target = g_build_filename(sources, inputs[i][0], NULL);
		g_autofree char *link = g_build_filename(work.folder, inputs[i][1], NULL);

		if (symlink(target, link) != 0)
			g_error("cannot link %s", link);
	}
	work.values = full    ? G_MAXUINT
		      : every ? MAX(1, work.command->values)
			      : work.command->values;
	add_values(&work, 0, work.command->operands, 0);
	find_options(&work);
	cover_pairs((const Item *)(gpointer)work.items->data, work.items->len, full || every,
		check_row, &work);
	check_inputs(&work);
	printf("%s: %u values, %u runs, %u of them taken\n", work.command->name,
		work.items->len, work.n_runs, work.n_taken);
	for (guint i = 0; i < G_N_ELEMENTS(inputs); i++) {
		g_autofree char *link = g_build_filename(work.folder, inputs[i][1], NULL);

		g_unlink(link);
	}
	g_rmdir(work.folder);
	g_free(work.folder);
	g_array_unref(work.items);
}

/* The environment of every run. No gnuplot is there: what it would draw is left behind, and compared. */
static void set_environment(void)
{
	static const char *const kept[] = {
		"PIPESIM_PAIRS", "PIPESIM_LONG", "PIPESIM_SANITIZED"};
	g_auto(GStrv) names = g_listenv();

	for (guint i = 0; names[i] != NULL; i++)
		if (!g_strv_contains(kept, names[i]))
			g_unsetenv(names[i]);
	g_setenv("PATH", "/nonexistent", TRUE);
	g_setenv("LC_ALL", "C.UTF-8", TRUE);
	g_setenv("PIPESIM_DATADIR", sources, TRUE);
	g_setenv("G_DEBUG", "fatal-criticals", TRUE);
}

int main(void)
{
	const char *mode = g_getenv("PIPESIM_PAIRS"), *top = g_getenv("TOP_SRCDIR");
	guint running = 0;
	int status;

	full = mode != NULL && strcmp(mode, "full") == 0;
	every = g_getenv("PIPESIM_LONG") != NULL;
	scratch = g_dir_make_tmp(NULL, NULL);
	counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	if (top == NULL || scratch == NULL || counts == MAP_FAILED) {
		printf("pairs: TOP_SRCDIR says where inputs are\n");
		return 99;
	}
	sources = g_canonicalize_filename(top, NULL);
	set_environment();
	for (guint i = 0; i < G_N_ELEMENTS(commands) || running > 0;) {
		if (i < G_N_ELEMENTS(commands) && running < g_get_num_processors()) {
			if (fork() == 0) {
				check_command(&commands[i]);
				exit(0);
			}
			i++;
			running++;
			continue;
		}
		wait(&status);
		running--;
		count_check(
			status != 0, "a process of these tests ended with status %d", status);
	}
	g_rmdir(scratch);
	printf("%u%%: Checks: %u, Failures: %u, Errors: 0\n",
		100 * (counts->checks - counts->failures) / MAX(counts->checks, 1),
		counts->checks, counts->failures);
	return counts->failures > 0;
}
