#include "cli/command.h"
#include "cli/mpi.h"
#include "diagnosis/governed.h"
#include "diagnosis/measured.h"
#include "diagnosis/print.h"
#include "diagnosis/spread.h"
#include "diagnosis/traces.h"
#include "effects/effects.h"
#include "output/table.h"
#include "output/timeline-layout.h"

/* All that is told. */
typedef struct {
	const PipesimDiagnosis *diagnosis;
	PipesimWhatIf *what_if;        /* NULL: not every trace has what it is defined by */
	PipesimBalance *balance;       /* NULL: not asked for */
	PipesimComparison *comparison; /* the step, measured and simulated; NULL: not drawn */
} Findings;

static void clear_findings(Findings *found)
{
	pipesim_what_if_free(found->what_if);
	pipesim_balance_free(found->balance);
	pipesim_comparison_free(found->comparison);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Findings, clear_findings)

static void put_members(PipesimJson *json, gconstpointer of)
{
	const Findings *found = of;

	pipesim_diagnosis_members(json, PIPESIM_OF(found, diagnosis),
		PIPESIM_OF(found, what_if), PIPESIM_OF(found, balance));
}

/* What is drawn, with the words of the diagnosis. */
static gboolean make_comparison(const PipesimSetup *setup, Findings *found, GError **error)
{
	PipesimComparison *comparison = pipesim_measured_comparison(found->diagnosis, error);
	g_autoptr(GString) about = g_string_new(NULL), answer = g_string_new(NULL);

	if (comparison == NULL)
		return FALSE;
	found->comparison = comparison;
	pipesim_diagnosis_text(found->diagnosis, found->what_if, found->balance, setup->notices,
		&(PipesimStyle){.full = TRUE, .answer = answer}, about);
	comparison->answer = g_string_free(g_steal_pointer(&answer), FALSE);
	comparison->about = g_string_free(g_steal_pointer(&about), FALSE);
	comparison->command = g_strdup(setup->command_line);
	comparison->notices = setup->notices;
	return setup->text[PIPESIM_SET_TIMELINE] == NULL ||
	       pipesim_layout_check(comparison, &setup->view, error);
}

static gboolean tell_all(const PipesimSetup *setup, const PipesimDiagnosis *diagnosis,
	guint format, GError **error)
{
	const gboolean drawn = setup->text[PIPESIM_SET_TIMELINE] != NULL ||
			       setup->text[PIPESIM_SET_CHROME_TRACE] != NULL ||
			       setup->text[PIPESIM_SET_REPORT] != NULL;
	const char *path = setup->text[PIPESIM_SET_OUTPUT];
	const PipesimStyle style = pipesim_terminal_style(setup, path);
	g_autoptr(GString) out = g_string_new(NULL);
	g_auto(Findings) found = {
		.diagnosis = diagnosis, .what_if = pipesim_what_if(diagnosis->record, NULL)};

	/* Where nobody asked, what forwards tell of their layers. */
	found.balance =
		pipesim_balance_new(diagnosis, setup->layers, setup->layers > 0 ? error : NULL);
	if ((setup->layers > 0 && found.balance == NULL) ||
		(drawn && !make_comparison(setup, &found, error)))
		return FALSE;
	if (format == PIPESIM_AS_JSON)
		pipesim_command_json(&pipesim_command_diagnose, &found, out);
	else if (format == PIPESIM_AS_CSV)
		pipesim_diagnosis_csv(diagnosis, out);
	else
		pipesim_diagnosis_text(
			diagnosis, found.what_if, found.balance, setup->notices, &style, out);
	return pipesim_print_drawn(setup, found.comparison, path, out, error);
}

/* How chips at their limit clock, as far as it is known. */
static gboolean govern(PipesimSetup *setup, PipesimRecord *record, GError **error)
{
	const char *given = setup->text[PIPESIM_SET_DEVICE];

	if (!pipesim_at_limit(record)) {
		if (given != NULL)
			pipesim_setup_notice(setup,
				"--device has no effect here: the profiles show no chips at "
				"their power limit");
		return TRUE;
	}
	if (!pipesim_setup_load_chip(setup, record->device, error))
		return FALSE;
	if (given != NULL && setup->device->power == NULL)
		return pipesim_refuse(error,
			"--device %s has no [power], which says how a chip clocks at its "
			"limit; add it, as in devices/h200.ini",
			given);
	if (setup->device != NULL)
		pipesim_govern_record(record, setup->device);
	return TRUE;
}

/* What --shard says, for a diagnosis of all such parts. */
static gboolean write_part(const PipesimSetup *setup, GError **error)
{
	const char *path = setup->text[PIPESIM_SET_OUTPUT];
	g_autoptr(GString) part = g_string_new(NULL);

	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++)
		if (pipesim_setup_given(setup, id) && id != PIPESIM_SET_SHARD &&
			id != PIPESIM_SET_MAP && id != PIPESIM_SET_OUTPUT)
			return pipesim_refuse(error,
				"%s: a part is files that were read; give it with all parts",
				pipesim_settings[id].name);
	if (path == NULL || g_str_equal(path, "-"))
		return pipesim_refuse(error, "--shard needs a file for its part: -o FILE");
	return pipesim_setup_part(setup, part, error) && pipesim_print(path, part, error);
}

/* By @peers, of which the first alone tells what all have read. */
static gboolean diagnose(PipesimSetup *setup, const PipesimPeers *peers, GError **error)
{
	g_autoptr(PipesimRangeRules) rules = NULL;
	g_autoptr(PipesimEffects) effects = NULL;
	PipesimPatient patient = {
		.step = setup->text[PIPESIM_SET_STEP] != NULL ? (gint64)setup->step : -1};
	guint format;

	if (setup->n_operands == 0)
		return pipesim_refuse(
			error, "no trace given; for example pipesim diagnose rank*.json.gz");
	if (!pipesim_setup_check_view(setup, error) ||
		!pipesim_format(setup, "text json csv", &format, error) ||
		!pipesim_check_page(setup->text[PIPESIM_SET_REPORT], error))
		return FALSE;
	if (setup->text[PIPESIM_SET_SHARD] != NULL)
		return write_part(setup, error);
	g_autoptr(GPtrArray) traces = pipesim_setup_traces(setup, peers, &rules, error);
	if (traces == NULL || peers->rank > 0)
		return traces != NULL;
	g_autoptr(PipesimRecord) record =
		pipesim_record_new((PipesimTrace *const *)traces->pdata, traces->len, error);
	if (record == NULL || !govern(setup, record, error))
		return FALSE;
	g_autoptr(PipesimCalibration) calibration =
		pipesim_calibrate((PipesimTrace *const *)traces->pdata, traces->len,
			&(PipesimCalibrateOptions){0}, error);
	if (calibration != NULL)
		effects = pipesim_effects_calibrate((PipesimTrace *const *)traces->pdata,
			traces->len, calibration, 0, error);
	if (effects == NULL)
		return FALSE;
	pipesim_each_in (const char, notice, record->notices)
		pipesim_setup_notice(setup, "%s", notice);
	patient.record = record;
	pipesim_each_in (const PipesimTrace, trace, traces) {
		pipesim_each_in (const char, notice, trace->notices)
			pipesim_setup_notice(setup, "%s", notice);
		patient.inferred |= trace->segments->len > 0;
	}
	patient.costs = calibration->costs;
	patient.runtime = setup->text[PIPESIM_SET_RUNTIME] != NULL ? setup->scenario.runtime
								   : &pipesim_native_runtime;
	g_autoptr(PipesimDiagnosis) diagnosis = pipesim_diagnose(&patient, error);
	if (diagnosis == NULL || !pipesim_spread_steps(&patient, diagnosis, error))
		return FALSE;
	setup->told = format == PIPESIM_AS_TEXT;
	return tell_all(setup, diagnosis, format, error);
}

static gboolean run(PipesimSetup *setup, PipesimExit *answer G_GNUC_UNUSED, GError **error)
{
	const PipesimProcesses processes = pipesim_mpi_start();
	const PipesimPeers peers = {processes.rank, processes.size, pipesim_mpi_exchange};
	const gboolean ok = diagnose(setup, &peers, error);

	pipesim_mpi_end(processes, ok ? NULL : *error);
	return ok;
}

const PipesimCommand pipesim_command_diagnose = {
	.name = "diagnose",
	.summary = "where the time of a recorded step went",
	.usage = "TRACE...",
	.about = "Reads the traces of all ranks of a run: files of PyTorch's profiler, tables "
		 "of ops, or pipesim's own\ntraces with stages and micro-batches. Finds the "
		 "order that was executed and says, cause by cause,\nwhat the step took beside "
		 "its work, and what other schedules would take.",
	.examples = "Exit status: 0 done, 2 usage, or the traces are no whole run, 3 bad input "
		    "file.\n",
	.operand = "a trace",
	.operands = PIPESIM_PATH_READ_ONCE,
	.takes = {PIPESIM_SET_STEP, PIPESIM_SET_KEEP_GNUPLOT, PIPESIM_SET_RUNTIME,
		PIPESIM_SET_MAP, PIPESIM_SET_AS, PIPESIM_SET_MICROBATCHES, PIPESIM_SET_LAYERS,
		PIPESIM_SET_DEVICE, PIPESIM_SET_SHARD, PIPESIM_SET_FULL, PIPESIM_SET_FORMAT,
		PIPESIM_SET_OUTPUT, PIPESIM_SET_TIMELINE, PIPESIM_ALL_VIEW,
		PIPESIM_SET_CHROME_TRACE, PIPESIM_SET_REPORT},
	.wording = {{PIPESIM_SET_MICROBATCHES, NULL,
			    "micro-batches of a step, where ops have no names "
			    "(default: as many as fit)",
			    NULL},
		{PIPESIM_SET_LAYERS, NULL,
			"layers on each rank, which are balanced (default: as forwards tell)",
			NULL},
		{PIPESIM_SET_DEVICE, NULL,
			"whose [power] chips at their limit clock by (default: the shipped one "
			"that profiles name)",
			NULL},
		{PIPESIM_SET_RUNTIME, NULL,
			"whose rules the messages followed (default: as files tell, else "
			"found)",
			NULL},
		{PIPESIM_SET_SHARD, "I/N",
			"read part I of N of the files, from 0/N to N-1/N, into the file of "
			"--output: all of these are then given instead",
			NULL},
		{PIPESIM_SET_FORMAT, NULL, "text, json or csv (default: text)",
			"text json csv"}},
	.members = put_members,
	.run = run,
};
