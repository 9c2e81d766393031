#include "diagnosis/print.h"
#include "diagnosis/spread.h"
#include "diagnosis/told.h"
#include "output/figures.h"
#include "output/screen.h"

/* Schedules that are shorter than what ran and named. */
#define MOST_NAMED 3

/* A share in per cent that prints without a sign where it prints as nothing. */
static double percent(double share)
{
	return fabs(share) < 0.0005 ? 0 : 100 * share;
}

static const char *const meanings[PIPESIM_N_CAUSES] = {
	[PIPESIM_CAUSE_SCHEDULE] = "schedule: its bubble at equal stages",
	[PIPESIM_CAUSE_IMBALANCE] = "imbalance: stages that differ",
	[PIPESIM_CAUSE_SLOW_RANK] = "slow-rank: ranks that differ",
	[PIPESIM_CAUSE_CONTENTION] = "contention: ops beside messages",
	[PIPESIM_CAUSE_LENGTHS] = "micro-batches: of other lengths",
	[PIPESIM_CAUSE_OPS] = "ops: longer than usual",
	[PIPESIM_CAUSE_MESSAGES] = "messages: moving, waiting",
	[PIPESIM_CAUSE_PEERS] = "peers: collectives that wait",
	[PIPESIM_CAUSE_HOST] = "host: idle, nothing launched",
	[PIPESIM_CAUSE_OUTSIDE] = "outside the pipeline",
};

/* "rank 5 of the job (TENSOR_MODEL_PARALLEL_GROUP)"; for g_free(). */
static char *word_awaited(const PipesimDiagnosis *diagnosis)
{
	const PipesimTrace *waiting = diagnosis->record->waiting;
	const char *group = waiting != NULL ? waiting->late_group : "";
	g_autofree char *name = g_strndup(group, strcspn(group, "\n"));
	g_autofree char *shown = pipesim_printable(name);
	g_autoptr(GString) out = g_string_new("ranks whose files are not here");

	if (pipesim_told_awaited(diagnosis) >= 0)
		g_string_printf(out, "rank %" G_GINT64_FORMAT " of the job",
			pipesim_told_awaited(diagnosis));
	if (shown[0] != '\0')
		g_string_append_printf(out, " (%s)", shown);
	return g_string_free(g_steal_pointer(&out), FALSE);
}

static void add_row(PipesimTable *table, const PipesimDiagnosis *diagnosis, const char *name,
	const PipesimCause *cause)
{
	g_autofree char *op = pipesim_told_op(diagnosis, cause), *rank = NULL;

	if (cause->rank >= 0)
		rank = g_strdup_printf("%d", cause->rank);
	pipesim_table_row(table, PIPESIM_ROW_PLAIN, "%s\t%s\t%s\t%s\t%s\t%s", name,
		pipesim_fixed((double)cause->ns / 1e6, 1),
		pipesim_fixed(100 * (double)cause->ns / (double)MAX(diagnosis->measured, 1), 1),
		rank != NULL ? rank : "", op != NULL ? op : "",
		cause->without >= 0 ? pipesim_fixed((double)cause->without / 1e6, 1) : "");
}

static PipesimTable *make_table(const PipesimDiagnosis *diagnosis)
{
	PipesimTable *table =
		pipesim_table_of("where the time went<|ms|%|rank|op|step without, ms");
	guint order[PIPESIM_N_CAUSES];

	pipesim_told_causes(diagnosis, order);
	add_row(table, diagnosis, "work of a rank",
		&(PipesimCause){diagnosis->work, -1, PIPESIM_NO_OP, -1, NULL});
	for (guint i = 0; i < PIPESIM_N_CAUSES; i++) {
		const PipesimCause *cause = &diagnosis->cause[order[i]];

		/* What would print as nothing is in the other formats. */
		if (ABS(cause->ns) * 2000 >= diagnosis->measured)
			add_row(table, diagnosis, meanings[order[i]], cause);
	}
	return table;
}

/* "1f1b", or what is nearest to it. */
static void append_order(const PipesimDiagnosis *diagnosis, GString *out)
{
	const PipesimNearest *nearest = &diagnosis->nearest;

	if (nearest->exact)
		g_string_append(out, nearest->run->name);
	else if (nearest->run == NULL)
		g_string_append(out, "an order of its own");
	else
		g_string_append_printf(out, "an order near %s (%u of %u ops from the start on)",
			nearest->run->name, nearest->same, diagnosis->program->n_ops);
}

/* "; rules of megatron (found: off by 0.3 %)". */
static void append_rules(const PipesimDiagnosis *diagnosis, GString *out)
{
	g_string_append_printf(out, "; rules of %s", diagnosis->rules->name);
	pipesim_each (const PipesimTried, tried, diagnosis->tried)
		if (tried->runtime == diagnosis->rules)
			g_string_append_printf(
				out, " (found: off by %.1f %%)", percent(tried->error));
}

static void append_head(const PipesimDiagnosis *diagnosis, GString *out)
{
	const PipesimRecord *record = diagnosis->record;
	const PipesimShape *shape = &diagnosis->program->shape;
	const guint steps = record->steps->len;
	const guint parts = diagnosis->nearest.exact
				    ? pipesim_shape_parts(&diagnosis->nearest.run->shape)
				    : 1;

	append_order(diagnosis, out);
	g_string_append_printf(out, ", PP %u, %u stage%s, %u micro-batches", shape->ranks,
		shape->stages, shape->stages == 1 ? "" : "s", shape->microbatches / parts);
	if (parts > 1)
		g_string_append_printf(out, " in %u parts each", parts);
	g_string_append_printf(out, "; %u whole step%s", steps, steps == 1 ? "" : "s");
	if (record->n_replicas > 1)
		g_string_append_printf(out, " of %u replicas", record->n_replicas);
	append_rules(diagnosis, out);
	g_string_append_printf(out, ". Step %" G_GINT64_FORMAT, pipesim_told_step(diagnosis));
	if (record->n_replicas > 1)
		g_string_append_printf(
			out, ", its slowest replica %u", diagnosis->pipeline->replica);
	g_string_append_printf(out, ": measured %s ms, simulated %s ms (%+.1f %%%s)",
		pipesim_ms_fixed(diagnosis->measured, 1),
		pipesim_ms_fixed(diagnosis->simulated, 1),
		100 * ((double)diagnosis->simulated / (double)MAX(diagnosis->measured, 1) - 1),
		diagnosis->stays[PIPESIM_CAUSE_HOST] ? ", without the late host" : "");
	if (steps > 1)
		g_string_append_printf(out, "; all steps: %+.1f %% in the median",
			percent(pipesim_told_median_error(diagnosis)));
}

/* The largest single losses. */
static void note_losses(const PipesimDiagnosis *diagnosis, GPtrArray *notes)
{
	static const char *const words[PIPESIM_N_CAUSES] = {
		[PIPESIM_CAUSE_OPS] = "took %s ms longer than usual",
		[PIPESIM_CAUSE_MESSAGES] = "waited %s ms for messages",
		[PIPESIM_CAUSE_PEERS] = "waited %s ms for peers in collectives",
		[PIPESIM_CAUSE_HOST] = "came %s ms late from the host",
	};

	for (guint i = 0; i < diagnosis->n_losses; i++) {
		const PipesimOpLoss *loss = &diagnosis->loss[i];
		g_autoptr(GString) op = g_string_new(NULL),
				   lost = g_string_new(words[loss->cause]);

		/* What the step hardly feels is in the other formats. */
		if (loss->step * 2000 < diagnosis->measured)
			break;
		pipesim_op_print(
			diagnosis->program, loss->rank, &diagnosis->program->ops[loss->op], op);
		g_string_replace(lost, "%s", pipesim_ms_fixed(loss->ns, 1), 1);
		pipesim_lines_say(notes,
			"rank %u, %s at %s ms: %s; without it the step takes %s ms less",
			loss->rank, op->str, pipesim_ms_fixed(loss->at, 1), lost->str,
			pipesim_ms_fixed(loss->step, 1));
	}
}

/* Whether @other, in @time, is shorter than what ran, without more copies of the parameters: that is another trade. */
static gboolean is_shorter(
	const PipesimDiagnosis *diagnosis, const PipesimOther *other, gint64 time)
{
	return time >= 0 && time < diagnosis->now.makespan &&
	       other->run->shape.copies <= diagnosis->executed->shape.copies;
}

/* The first of the others that is. @fixed: with what stays fixed */
static const PipesimOther *best_of(const PipesimDiagnosis *diagnosis, gboolean fixed)
{
	const PipesimOther *best = NULL;

	pipesim_each (const PipesimOther, other, diagnosis->others) {
		const gint64 time = fixed ? other->fixed : other->makespan;

		if (is_shorter(diagnosis, other, time) &&
			(best == NULL || time < (fixed ? best->fixed : best->makespan)))
			best = other;
	}
	return best;
}

/* "with rank 1 as slow and the host of rank 0 as late as they were"; "" where nothing stays. */
static char *word_stays(const PipesimDiagnosis *diagnosis)
{
	const PipesimCause *cause = diagnosis->cause;
	const gint slow = diagnosis->stays[PIPESIM_CAUSE_SLOW_RANK]
				  ? cause[PIPESIM_CAUSE_SLOW_RANK].rank
				  : -1;
	const gint late =
		diagnosis->stays[PIPESIM_CAUSE_HOST] ? cause[PIPESIM_CAUSE_HOST].rank : -1;
	const gboolean lengths = diagnosis->stays[PIPESIM_CAUSE_LENGTHS];
	const guint n = (slow >= 0) + (late >= 0) + lengths;
	g_autoptr(GString) out = g_string_new("with ");

	if (slow >= 0)
		g_string_append_printf(out, "rank %d as slow%s", slow,
			n == 3   ? ", "
			: n == 2 ? " and "
				 : "");
	if (late >= 0)
		g_string_append_printf(
			out, "the host of rank %d as late%s", late, lengths ? " and " : "");
	if (lengths)
		g_string_append(out, "micro-batches as long");
	g_string_append(out, n > 1 || lengths ? " as they were" : " as it was");
	return n > 0 ? g_string_free(g_steal_pointer(&out), FALSE) : g_strdup("");
}

static double gain_of(const PipesimDiagnosis *diagnosis, gint64 time)
{
	return 100 * ((double)time / (double)MAX(diagnosis->now.makespan, 1) - 1);
}

/* What is shorter than what ran beside the first of the others, and how that is had. */
static void note_schedules(const PipesimDiagnosis *diagnosis, GPtrArray *notes)
{
	const PipesimShape *shape = &diagnosis->executed->shape;
	const PipesimOther *best = best_of(diagnosis, FALSE);
	guint named = 1;

	if (best == NULL)
		return;
	pipesim_each (const PipesimOther, other, diagnosis->others) {
		if (other == best || !is_shorter(diagnosis, other, other->makespan))
			continue;
		if (named++ == MOST_NAMED)
			break;
		pipesim_lines_say(notes,
			"%s takes %s (%.1f %%), with activations of %.3g micro-batches",
			other->run->name, pipesim_brief_time(other->makespan),
			gain_of(diagnosis, other->makespan),
			pipesim_told_activations(other->run));
	}
	pipesim_lines_say(notes,
		"the order of %s is what pipesim export --schedule %s --pp %u --microbatches "
		"%u -o %s.csv writes",
		best->run->name, best->run->name, shape->ranks, shape->microbatches,
		best->run->name);
	if (diagnosis->governor != NULL)
		pipesim_lines_say(notes,
			"schedules run at the clocks that their idle time leaves an %s at its "
			"power limit",
			diagnosis->governor);
}

/* "S 1.179; most by forward-compute 1.087, stage 3 1.232, replica 1 1.178; M_S 1.219, M_W 0.031". */
static void note_what_if(const PipesimWhatIf *what_if, GPtrArray *notes)
{
	const PipesimWhatIfKind *kind = &g_array_index(what_if->kinds, PipesimWhatIfKind, 0);
	guint stage = 0, replica = 0;

	for (guint i = 1; i < what_if->n_stages; i++)
		if (what_if->stage[i] > what_if->stage[stage])
			stage = i;
	for (guint i = 1; i < what_if->n_replicas; i++)
		if (what_if->replica[i] > what_if->replica[replica])
			replica = i;
	pipesim_lines_say(notes,
		"Straggling (StragglerAnalysis): S %.3f; most by %s %.3f, stage %u %.3f, "
		"replica %u %.3f; M_S %.3f, M_W %.3f",
		what_if->slowdown, kind->name, kind->slowdown, stage, what_if->stage[stage],
		replica, what_if->replica[replica], what_if->last_stage, what_if->worst_ranks);
}

/* "9, 9, 8, 6"; where all are the same "8 in each stage". */
static void append_layers(const guint *layers, guint n, GString *out)
{
	const gboolean same = pipesim_all(s, n, layers[s] == layers[0]);

	for (guint s = 0; s < (same ? 1 : n); s++)
		g_string_append_printf(out, "%s%u", s > 0 ? ", " : "", layers[s]);
	if (same)
		g_string_append(out, " in each stage");
}

/* "Balanced layers: 9, 9, 8, 6 instead of 8 in each stage: 299.6 ms instead of 333.3 (-10.1 %); ...". */
static void note_balance(
	const PipesimDiagnosis *diagnosis, const PipesimBalance *balance, GPtrArray *notes)
{
	const gint64 now = diagnosis->executed->report->makespan;
	const gint64 then = balance->run->report->makespan;
	const gboolean same = memcmp(balance->layers, balance->before,
				      balance->n_stages * sizeof *balance->layers) == 0;
	g_autoptr(GString) out =
		g_string_new(same ? "Layers are balanced: " : "Balanced layers: ");

	/* Nobody asked. */
	if (same && balance->counted)
		return;
	append_layers(balance->layers, balance->n_stages, out);
	if (!same) {
		g_string_append(out, " instead of ");
		append_layers(balance->before, balance->n_stages, out);
		g_string_append_printf(out,
			": %s ms instead of %s (%+.1f %%); a layer takes %s ms, as the %s%s",
			pipesim_ms_fixed(then, 1), pipesim_ms_fixed(now, 1),
			100 * ((double)then / (double)MAX(now, 1) - 1),
			pipesim_ms_fixed(balance->layer, 1),
			balance->guessed ? "shorter stage has, if that holds layers alone"
					 : "stages between the first and the last have",
			balance->counted ? "; layers are counted by their attention" : "");
	}
	pipesim_lines_say(notes, "%s", out->str);
}

/* "Steps: 3233.5 to 3494.6 ms ...". */
static void note_spread(const PipesimDiagnosis *diagnosis, GPtrArray *notes)
{
	const PipesimStepSpread *spread = diagnosis->spread;
	g_autoptr(GString) out = g_string_new(NULL);
	const gint64 longer = spread->most - diagnosis->measured;
	guint worst = 0;

	g_string_append_printf(out, "Steps: %s to %s ms, nine of ten at most %s",
		pipesim_ms_fixed(spread->least, 1), pipesim_ms_fixed(spread->most, 1),
		pipesim_ms_fixed(spread->percentile[1], 1));
	if (ABS(spread->drift) * 100 >= diagnosis->measured)
		g_string_append_printf(out, "; the last third takes %s%s ms than the first",
			pipesim_ms_fixed(ABS(spread->drift), 1),
			spread->drift > 0 ? " more" : " less");
	for (guint kind = 1; kind < PIPESIM_N_CAUSES; kind++)
		if (spread->more[kind] > spread->more[worst])
			worst = kind;
	if (longer * 100 >= diagnosis->measured && spread->told) {
		g_string_append_printf(out,
			"; the longest, %" G_GINT64_FORMAT ", lost most more to %s",
			pipesim_record_step(diagnosis->record, spread->worst)->number,
			pipesim_cause_name(worst));
		if (spread->rank[worst] >= 0)
			g_string_append_printf(out, " of rank %d", spread->rank[worst]);
		g_string_append_printf(
			out, ": %s ms", pipesim_ms_fixed(spread->more[worst], 1));
	}
	pipesim_lines_say(notes, "%s", out->str);
}

/* What each cause is, where it is what to do first; %u: the rank. */
static const char *const advice[PIPESIM_N_CAUSES] = {
	[PIPESIM_CAUSE_SCHEDULE] = "the bubble of the schedule",
	[PIPESIM_CAUSE_IMBALANCE] = "stages differ, rank %u has most work",
	[PIPESIM_CAUSE_SLOW_RANK] = "rank %u is slower than the others at the same ops",
	[PIPESIM_CAUSE_CONTENTION] = ("receives that wait slow the ops of rank %u beside them; "
				      "a runtime that issues them later would not"),
	[PIPESIM_CAUSE_LENGTHS] = "micro-batches are not of one length",
	[PIPESIM_CAUSE_OPS] = "ops of rank %u now and then take longer than usual",
	[PIPESIM_CAUSE_MESSAGES] = "rank %u waits for messages",
	[PIPESIM_CAUSE_PEERS] = "collectives of rank %u wait for ",
	[PIPESIM_CAUSE_HOST] = "the host of rank %u launches its ops too late",
	[PIPESIM_CAUSE_OUTSIDE] = "what the ranks do outside the pipeline",
};

/* Which other schedule, with what stays and without. */
static void decide_schedule(const PipesimDiagnosis *diagnosis, PipesimScreen *screen)
{
	const PipesimOther *best = best_of(diagnosis, FALSE), *fixed = best_of(diagnosis, TRUE);
	g_autofree char *stays = word_stays(diagnosis);
	g_autofree char *comma =
		stays[0] != '\0' ? g_strconcat(", ", stays, NULL) : g_strdup("");
	PipesimNumber here;

	pipesim_screen_time(here, diagnosis->now.makespan);
	if (best != NULL)
		pipesim_lines_say(screen->verdict,
			"Another schedule: %s takes %s instead of %s (%.1f %%) at the median "
			"times of these stages%s, with activations of %.3g micro-batches "
			"instead of %.3g%s.",
			best->run->name, pipesim_brief_time(best->makespan), here,
			gain_of(diagnosis, best->makespan), comma,
			pipesim_told_activations(best->run),
			pipesim_told_activations(diagnosis->executed),
			diagnosis->halved && !diagnosis->left_out
				? "; the split of B into I and W is estimated"
				: "");
	else
		pipesim_lines_say(screen->verdict,
			"No other schedule is shorter at the median times of these stages%s.",
			comma);
	if (diagnosis->left_out)
		pipesim_lines_say(screen->verdict,
			"Schedules that %s backwards are left out: activations are recomputed, "
			"and what such backwards take then was not recorded.",
			diagnosis->halved ? "split" : "do not split");
	if (stays[0] != '\0' && fixed != NULL)
		pipesim_lines_say(screen->verdict, "With that fixed: %s takes %s (%.1f %%).",
			fixed->run->name, pipesim_brief_time(fixed->fixed),
			gain_of(diagnosis, fixed->fixed));
}

/* Ops in which GPUs stand still for more of their time are told of, %. */
#define STILL 15

/* Of the work of a rank what its GPU stands still for want of launches, in the mean of all ops, ns. */
static gint64 stands_still(const PipesimDiagnosis *diagnosis)
{
	const PipesimRecord *record = diagnosis->record;

	return record->in_ops > 0 ? (gint64)((double)diagnosis->work * (double)record->still /
					     (double)record->in_ops)
				  : 0;
}

/* What host-bound ops are, and what helps. */
static void decide_launches(
	const PipesimDiagnosis *diagnosis, const char *begin, PipesimScreen *screen)
{
	const PipesimRecord *record = diagnosis->record;

	pipesim_lines_say(screen->verdict,
		"%s inside ops the GPUs stand still for %.0f %% of the time, as kernels are "
		"launched too slowly (%s of the work of a rank). CUDA graphs, fused kernels "
		"or larger micro-batches help; a schedule does not.",
		begin, 100 * (double)record->still / (double)record->in_ops,
		pipesim_brief_time(stands_still(diagnosis)));
}

/* What to do first. */
static PipesimCauseKind find_first(const PipesimDiagnosis *diagnosis)
{
	guint order[PIPESIM_N_CAUSES];

	pipesim_told_causes(diagnosis, order);
	return order[0];
}

/* Whether what makes @rank slow comes and goes: its kernels swing more than those of any other rank by half of that or more. */
static gboolean comes_and_goes(const PipesimDiagnosis *diagnosis, gint rank)
{
	const PipesimRecord *record = diagnosis->record;
	gint64 others = 0;

	if (record->bursts == NULL || rank < 0)
		return FALSE;
	for (gint other = 0; other < (gint)record->joined.ranks; other++)
		if (other != rank)
			others = MAX(others, record->bursts[other]);
	return 2 * (record->bursts[rank] - others) >= record->speed[rank] - PIPESIM_PPM;
}

/* ", 0.2 to 3.1 times the usual: ...". */
static void append_lengths(const PipesimDiagnosis *diagnosis, GString *out)
{
	gint64 least = G_MAXINT64, most = 0;

	for (guint m = 0; m < diagnosis->n_lengths; m++) {
		least = MIN(least, diagnosis->length[m]);
		most = MAX(most, diagnosis->length[m]);
	}
	g_string_append_printf(out,
		", %s to %s times their average; pipesim optimize --order microbatches orders "
		"them, --pack evens them out",
		pipesim_fixed((double)least / PIPESIM_PPM, 2),
		pipesim_fixed((double)most / PIPESIM_PPM, 2));
}

static void decide(
	const PipesimDiagnosis *diagnosis, const PipesimBalance *balance, PipesimScreen *screen)
{
	g_autoptr(GString) out = g_string_new(NULL);
	const PipesimCauseKind first = find_first(diagnosis);
	const PipesimCause *cause = &diagnosis->cause[first];
	const PipesimRecord *record = diagnosis->record;
	const gboolean launches = 100 * record->still >= STILL * record->in_ops &&
				  record->still > 0,
		       before = launches && stands_still(diagnosis) > cause->ns;
	if (record->lost != NULL)
		pipesim_lines_say(screen->verdict,
			"Record again: %.1f %% of the kernels that were launched are missing "
			"in %s, as the profiler lost them. What follows may be of what it "
			"lost.",
			(double)pipesim_trace_get_count(record->lost, PIPESIM_LOST) /
				(PIPESIM_PPM / 100),
			record->lost->path);
	if (before)
		decide_launches(diagnosis, "First:", screen);
	if (ABS(cause->ns) * 2000 < diagnosis->measured) {
		pipesim_lines_say(
			screen->verdict, "Nothing is lost: the ranks work all the time.");
	} else {
		g_autofree char *rank = g_strdup_printf("%d", cause->rank);

		g_string_append(out, before ? "Then: " : "First: ");
		g_string_append(out, advice[first]);
		g_string_replace(out, "%u", cause->rank >= 0 ? rank : "one", 1);
		if (first == PIPESIM_CAUSE_PEERS) {
			g_autofree char *whom = word_awaited(diagnosis);

			g_string_append(out, whom);
		}
		if (first == PIPESIM_CAUSE_SLOW_RANK && comes_and_goes(diagnosis, cause->rank))
			g_string_append(
				out, " now and then, as where another process is on its chip");
		if (first == PIPESIM_CAUSE_LENGTHS)
			append_lengths(diagnosis, out);
		if (first == PIPESIM_CAUSE_IMBALANCE && balance == NULL)
			g_string_append(out, "; --layers N says how to balance them");
		g_string_append_printf(out, " (%s of %s)", pipesim_brief_time(cause->ns),
			pipesim_brief_time(diagnosis->measured));
		if (cause->without >= 0)
			g_string_append_printf(out, "; without it the step takes %s",
				pipesim_brief_time(cause->without));
		pipesim_lines_say(screen->verdict, "%s.", out->str);
	}
	if (pipesim_record_apart(record))
		pipesim_lines_say(screen->verdict, "By their clocks the files were recorded "
						   "at different times: are they of "
						   "the same steps of one run?");
	if (record->cut)
		pipesim_lines_say(screen->verdict,
			"A file is cut short: what its rank did behind that is not counted.");
	if (launches && !before)
		decide_launches(diagnosis, "Also:", screen);
	decide_schedule(diagnosis, screen);
}

/* Whom other replicas wait for, where that is none of what this one lost. */
static void note_awaited(const PipesimDiagnosis *diagnosis, GPtrArray *notes)
{
	const PipesimRecord *record = diagnosis->record;
	g_autofree char *whom = word_awaited(diagnosis);

	if (record->n_replicas > 1 && pipesim_told_awaited(diagnosis) >= 0 &&
		record->waiting->late_ns * 100 >= diagnosis->measured * record->steps->len &&
		find_first(diagnosis) != PIPESIM_CAUSE_PEERS)
		pipesim_lines_say(notes, "other replicas wait for %s in collectives", whom);
}

void pipesim_diagnosis_text(const PipesimDiagnosis *diagnosis, const PipesimWhatIf *what_if,
	const PipesimBalance *balance, const GPtrArray *notices, const PipesimStyle *style,
	GString *out)
{
	g_autoptr(PipesimScreen) screen = pipesim_screen_new();

	append_head(diagnosis, screen->asked);
	decide(diagnosis, balance, screen);
	screen->table = make_table(diagnosis);
	if (balance != NULL)
		note_balance(diagnosis, balance, screen->notes);
	pipesim_lines_add(screen->notes, notices);
	note_losses(diagnosis, screen->notes);
	note_awaited(diagnosis, screen->notes);
	if (diagnosis->spread != NULL)
		note_spread(diagnosis, screen->notes);
	if (what_if != NULL)
		note_what_if(what_if, screen->notes);
	if (style->full)
		note_schedules(diagnosis, screen->notes);
	pipesim_lines_say(screen->more, "--timeline FILE.svg");
	pipesim_lines_say(screen->more, "--report FILE.html");
	pipesim_screen_print(screen, style, out);
}
