#include "setup/job-file.h"

#define MOST_BYTES ((gsize)1 << 20)
#define DEEPEST    16 /* files that include each other */

static const char job_group[] = "job";

/* Parts of --times, each a key of its own. */
static const char *const parts[] = {"F", "I", "W", "B", "FB", "P2P", NULL};

/* Paths ------------------------------------------------------------------------------------ */

/* @path, of a file in @folder, as it is called from the working folder. */
static char *from_folder(const char *folder, const char *path)
{
	g_autofree char *here = g_get_current_dir();
	g_autofree char *begin = g_strconcat(here, "/", NULL);
	g_autofree char *base = g_canonicalize_filename(folder, NULL);

	if (g_path_is_absolute(path) || strcmp(path, "-") == 0 || strcmp(base, here) == 0)
		return g_strdup(path);
	g_autofree char *full = g_canonicalize_filename(path, base);
	return g_strdup(g_str_has_prefix(full, begin) ? full + strlen(begin) : full);
}

/* And the other way: what @path is called from @folder. */
static char *to_folder(const char *folder, const char *path)
{
	g_autofree char *here = g_get_current_dir();
	g_autofree char *base = g_canonicalize_filename(folder, NULL);
	guint same = 0;

	if (g_path_is_absolute(path) || strcmp(path, "-") == 0 || strcmp(base, here) == 0)
		return g_strdup(path);
	g_autofree char *full = g_canonicalize_filename(path, NULL);
	g_auto(GStrv) a = g_strsplit(base, "/", -1);
	g_auto(GStrv) b = g_strsplit(full, "/", -1);
	while (a[same] != NULL && b[same] != NULL && strcmp(a[same], b[same]) == 0)
		same++;
	GString *name = g_string_new(NULL);
	for (guint i = same; a[i] != NULL; i++)
		g_string_append(name, "../");
	for (guint i = same; b[i] != NULL; i++)
		g_string_append_printf(name, "%s%s", i > same ? "/" : "", b[i]);
	return g_string_free(name, FALSE);
}

/* @text, of a setting or operand with whose files @kind is done, with its files named by @name. */
static char *rename_files(const char *text, PipesimSettingPath kind, const char *folder,
	char *(*name)(const char *folder, const char *path))
{
	if (kind == PIPESIM_PATH_NONE ||
		(kind == PIPESIM_PATH_LAYOUT && !pipesim_setup_layout_is_file(text)) ||
		((kind == PIPESIM_PATH_MODEL || kind == PIPESIM_PATH_DEVICE) &&
			!pipesim_setup_is_path(text)))
		return g_strdup(text);
	if (kind != PIPESIM_PATH_SCHEDULES)
		return name(folder, text);
	g_auto(GStrv) items = g_strsplit(text, ",", -1);
	for (char **item = items; *item != NULL; item++) {
		g_autofree char *before = g_strstrip(*item);

		*item = pipesim_setup_names_file(before) ? name(folder, before)
							 : g_strdup(before);
	}
	return g_strjoinv(",", items);
}

/* Reading ---------------------------------------------------------------------------------- */

/* One file, and those that are being read around it. */
typedef struct _Reading Reading;
struct _Reading {
	PipesimJobFile *job;
	PipesimIni *ini;
	char *folder;     /* NULL: it may include nothing */
	const char *path; /* in paths of the job */
	const Reading *around;
	guint part;                     /* line of the first part of --times here, 0: none */
	guint seen[PIPESIM_N_SETTINGS]; /* lines in which settings stand here, 0: they do not */
};

static gboolean read_file(
	const char *path, PipesimJobFile *job, const Reading *around, GError **error);

static void include(Reading *reading, const PipesimIniLine *line)
{
	g_autoptr(GError) error = NULL;
	guint depth = 1;

	if (reading->folder == NULL) {
		pipesim_ini_fault_at(reading->ini, line, "nothing can be included here");
		return;
	}
	g_autofree char *path = from_folder(reading->folder, line->value);
	g_autofree char *full = g_canonicalize_filename(path, NULL);
	for (const Reading *at = reading; at != NULL; at = at->around, depth++) {
		g_autofree char *other = g_canonicalize_filename(at->path, NULL);

		if (strcmp(full, other) == 0 || depth == DEEPEST) {
			pipesim_ini_fault_value(reading->ini, line,
				"'%.64s' includes itself; remove one of these lines",
				line->value);
			return;
		}
	}
	if (!read_file(path, reading->job, reading, &error))
		pipesim_faults_add(reading->ini->faults, reading->path, line->line,
			line->value_column, "%s", error->message);
}

/* Parts of --times are kept apart, so that what overrides one of them leaves the others. */
static void add_part(PipesimJobFile *job, const char *part)
{
	const gsize length = strcspn(part, "=");

	for (guint i = 0; i < job->parts->len; i++) {
		const char *other = job->parts->pdata[i];

		if (strncmp(other, part, length) == 0 && strcspn(other, "=") == length) {
			g_free(job->parts->pdata[i]);
			job->parts->pdata[i] = g_strdup(part);
			return;
		}
	}
	g_ptr_array_add(job->parts, g_strdup(part));
}

static void read_part(Reading *reading, const PipesimIniLine *line, const char *value)
{
	PipesimJobFile *job = reading->job;
	g_auto(GStrv) words = g_strsplit_set(value, " \t", -1);
	g_autofree char *dense = g_strjoinv("", words);
	g_autofree char *part = g_strconcat(line->key, "=", dense, NULL);

	if (reading->seen[PIPESIM_SET_TIMES] != 0) {
		pipesim_ini_fault_at(reading->ini, line,
			"line %u gives times whole; give them in one way",
			reading->seen[PIPESIM_SET_TIMES]);
		return;
	}
	/* What an included file gives whole is taken apart. */
	if (job->parts->len == 0 && job->text[PIPESIM_SET_TIMES] != NULL) {
		g_auto(GStrv) items = g_strsplit(job->text[PIPESIM_SET_TIMES], ",", -1);

		for (char **item = items; *item != NULL; item++)
			add_part(job, *item);
	}
	add_part(job, part);
	reading->part = line->line;
	if (job->at[PIPESIM_SET_TIMES].path != reading->path)
		job->at[PIPESIM_SET_TIMES] =
			(PipesimJobPlace){reading->path, line->line, line->value_column};
}

static gboolean read_flag(const char *value, gboolean *flag)
{
	static const char *const words[] = {
		"no", "yes", "false", "true", "off", "on", "0", "1"};

	for (guint i = 0; i < G_N_ELEMENTS(words); i++)
		if (g_ascii_strcasecmp(value, words[i]) == 0) {
			*flag = i % 2 == 1;
			return TRUE;
		}
	return FALSE;
}

/* The option that is called nearly @key: "; did you mean pp?", or nothing. */
static char *suggest(const char *key)
{
	const char *best = NULL;
	guint least = 3;

	for (guint id = 1; strlen(key) < 64 && id < PIPESIM_N_SETTINGS; id++)
		pipesim_nearer(key, pipesim_settings[id].name + 2, &least, &best);
	return best != NULL ? g_strdup_printf("; did you mean '%s'?", best)
			    : g_strdup("; 'pipesim help' shows where they stand");
}

static void read_setting(
	Reading *reading, const PipesimIniLine *line, PipesimSettingId id, const char *value)
{
	const PipesimSetting *setting = &pipesim_settings[id];
	PipesimJobFile *job = reading->job;
	PipesimIni *ini = reading->ini;
	const guint before = reading->seen[id];
	char *text = NULL;

	if (setting->everywhere)
		pipesim_ini_fault_at(ini, line, "'%s' is for command lines; %s", line->key,
			id == PIPESIM_SET_JOB ? "include = FILE takes another job"
					      : "remove it");
	else if (before != 0 && !setting->repeated)
		pipesim_ini_fault_at(ini, line,
			"'%s' is given twice, first in line %u; remove one", line->key, before);
	else if (id == PIPESIM_SET_TIMES && reading->part != 0)
		pipesim_ini_fault_at(ini, line,
			"line %u gives a part of times; give them in one way", reading->part);
	else if (setting->argument == NULL && !read_flag(value, &job->flag[id]))
		pipesim_ini_fault_value(ini, line, "%s: '%.64s'; yes or no", line->key, value);
	reading->seen[id] = before != 0 ? before : line->line;
	if (before == 0)
		job->at[id] = (PipesimJobPlace){reading->path, line->line, line->value_column};
	if (setting->argument == NULL)
		return;
	text = rename_files(value, setting->path,
		reading->folder != NULL ? reading->folder : ".", from_folder);
	if (setting->repeated) {
		/* What includes a file has other ones in place of those there. */
		const guint n =
			before != 0 && job->list[id] != NULL ? g_strv_length(job->list[id]) : 0;

		if (n == 0)
			g_clear_pointer(&job->list[id], g_strfreev);
		job->list[id] = g_renew(char *, job->list[id], n + 2);
		job->list[id][n] = text;
		job->list[id][n + 1] = NULL;
		return;
	}
	g_free(job->text[id]);
	job->text[id] = text;
	if (id == PIPESIM_SET_TIMES)
		g_ptr_array_set_size(job->parts, 0);
}

static gboolean knows_group(const char *group)
{
	return strcmp(group, job_group) == 0 ||
	       pipesim_any(
		       topic, PIPESIM_N_TOPICS, strcmp(group, pipesim_topics[topic].name) == 0);
}

static void fault_group(PipesimIni *ini, const PipesimIniLine *line)
{
	g_autoptr(GString) names = g_string_new("[job]");

	for (guint topic = 0; topic < PIPESIM_N_TOPICS; topic++)
		g_string_append_printf(names, "%s[%s]",
			topic + 1 == PIPESIM_N_TOPICS ? " and " : ", ",
			pipesim_topics[topic].name);
	pipesim_ini_fault_at(
		ini, line, "no such group as [%.60s]; %s are known", line->group, names->str);
}

/* A line of a group that is known: keys of [job], parts of [times], options. */
static void read_line(Reading *reading, const PipesimIniLine *line)
{
	PipesimJobFile *job = reading->job;
	const gboolean own = strcmp(line->group, job_group) == 0;
	const PipesimSettingId id = pipesim_setting_find(line->key);
	g_autofree char *value = pipesim_ini_text(line);

	if (value == NULL) {
		pipesim_ini_fault_value(reading->ini, line,
			"a backslash stands for \\s, \\t, \\n, \\r or \\\\; write \\\\ for "
			"one");
	} else if (own && strcmp(line->key, "include") == 0) {
		return; /* was read before */
	} else if (own && strcmp(line->key, "command") == 0) {
		if (line->first_line != line->line)
			pipesim_ini_fault_at(reading->ini, line, "'command' is given twice");
		g_free(job->command);
		job->command = g_steal_pointer(&value);
		job->at_command =
			(PipesimJobPlace){reading->path, line->line, line->value_column};
	} else if (own && strcmp(line->key, "operand") == 0) {
		if (line->first_line == line->line) {
			g_ptr_array_set_size(job->operands, 0);
			g_ptr_array_set_size(job->folders, 0);
		}
		g_ptr_array_add(job->operands, g_steal_pointer(&value));
		g_ptr_array_add(job->folders,
			g_strdup(reading->folder != NULL ? reading->folder : "."));
	} else if (strcmp(line->group, "times") == 0 && g_strv_contains(parts, line->key)) {
		if (line->first_line != line->line)
			pipesim_ini_fault_at(reading->ini, line,
				"'%s' is given twice, first in line %u", line->key,
				line->first_line);
		read_part(reading, line, value);
	} else if (id != PIPESIM_SET_NONE && g_ascii_isalpha(*line->key)) {
		read_setting(reading, line, id, value);
	} else {
		g_autofree char *near = suggest(line->key);

		pipesim_ini_fault_at(
			reading->ini, line, "no option '%.60s'%s", line->key, near);
	}
}

static gboolean read_lines(Reading *reading, GError **error)
{
	PipesimIni *ini = reading->ini;

	for (guint i = 0; i < ini->n_lines; i++)
		if (ini->lines[i].key != NULL &&
			g_strcmp0(ini->lines[i].group, job_group) == 0 &&
			strcmp(ini->lines[i].key, "include") == 0)
			include(reading, &ini->lines[i]);
	for (guint i = 0; i < ini->n_lines; i++) {
		const PipesimIniLine *line = &ini->lines[i];

		if (line->junk != NULL)
			pipesim_ini_fault_at(ini, line,
				"'%.60s' is neither [group] nor key = value", line->junk);
		else if (line->group == NULL)
			pipesim_ini_fault_at(ini, line,
				"'%.60s' comes before [job]; is this a job file?", line->key);
		else if (line->key == NULL && !knows_group(line->group))
			fault_group(ini, line);
		else if (line->key != NULL && knows_group(line->group))
			read_line(reading, line);
	}
	return pipesim_faults_done(ini->faults, error);
}

static gboolean read_file(
	const char *path, PipesimJobFile *job, const Reading *around, GError **error)
{
	g_autoptr(PipesimIni) ini = pipesim_ini_read(path, MOST_BYTES, PIPESIM_FILE_JOB, error);
	g_autofree char *folder = g_path_get_dirname(path), *name = g_strdup(path);
	Reading reading = {
		.job = job, .ini = ini, .folder = folder, .path = name, .around = around};

	g_ptr_array_add(job->paths, g_steal_pointer(&name));
	return ini != NULL && read_lines(&reading, error);
}

PipesimJobFile *pipesim_job_file_new(const char *path)
{
	PipesimJobFile *job = g_new0(PipesimJobFile, 1);

	job->path = g_strdup(path);
	job->operands = g_ptr_array_new_with_free_func(g_free);
	job->folders = g_ptr_array_new_with_free_func(g_free);
	job->paths = g_ptr_array_new_with_free_func(g_free);
	job->parts = g_ptr_array_new_with_free_func(g_free);
	return job;
}

void pipesim_job_file_set(
	PipesimJobFile *job, PipesimSettingId id, const char *value, guint line, guint column)
{
	job->at[id] = (PipesimJobPlace){job->path, line, column};
	if (pipesim_settings[id].argument == NULL) {
		job->flag[id] = TRUE;
		return;
	}
	g_free(job->text[id]);
	job->text[id] = g_strdup(value);
}

/* What was read in parts is put together. */
static PipesimJobFile *finish(PipesimJobFile *job)
{
	if (job->parts->len > 0) {
		g_ptr_array_add(job->parts, NULL);
		g_free(job->text[PIPESIM_SET_TIMES]);
		job->text[PIPESIM_SET_TIMES] = g_strjoinv(",", (char **)job->parts->pdata);
	}
	return job;
}

PipesimJobFile *pipesim_job_file_read(const char *path, GError **error)
{
	g_autoptr(PipesimJobFile) job = pipesim_job_file_new(path);

	return read_file(path, job, NULL, error) ? finish(g_steal_pointer(&job)) : NULL;
}

PipesimJobFile *pipesim_job_file_parse(
	const char *text, gsize length, const char *path, GError **error)
{
	g_autoptr(PipesimJobFile) job = pipesim_job_file_new(path);
	g_autoptr(PipesimIni) ini = pipesim_ini_parse(text, length, path, error);
	Reading reading = {.job = job, .ini = ini, .path = job->path};

	return ini != NULL && read_lines(&reading, error) ? finish(g_steal_pointer(&job))
							  : NULL;
}

PIPESIM_FREES(PipesimJobFile, pipesim_job_file_free, job)
{
	for (guint id = 0; id < PIPESIM_N_SETTINGS; id++) {
		g_free(job->text[id]);
		g_strfreev(job->list[id]);
	}
	g_ptr_array_unref(job->operands);
	g_ptr_array_unref(job->folders);
	g_ptr_array_unref(job->paths);
	g_ptr_array_unref(job->parts);
	pipesim_free_all(job->path, job->command, job);
}

/* Into a setup ------------------------------------------------------------------------------ */

void pipesim_job_file_apply(PipesimJobFile *job, PipesimSetup *setup, PipesimSettingPath kind)
{
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		if (pipesim_setup_given(setup, id)) {
			job->at[id].path = NULL; /* overridden */
			continue;
		}
		setup->text[id] = g_steal_pointer(&job->text[id]);
		setup->list[id] = g_steal_pointer(&job->list[id]);
		setup->flag[id] = job->flag[id];
	}
	if (setup->n_operands > 0 || job->operands->len == 0)
		return;
	for (guint i = 0; i < job->operands->len; i++) {
		char *before = job->operands->pdata[i];

		job->operands->pdata[i] =
			rename_files(before, kind, job->folders->pdata[i], from_folder);
		g_free(before);
	}
	setup->n_operands = job->operands->len;
	g_ptr_array_add(job->operands, NULL);
	setup->operands = (char **)job->operands->pdata;
}

void pipesim_job_file_locate(
	const PipesimJobFile *job, const PipesimSetup *setup, GError *error)
{
	PipesimSettingId found = PIPESIM_SET_NONE;

	if (!g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE) ||
		pipesim_error_location(error)->path != NULL)
		return;
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const char *name = pipesim_settings[id].name;
		g_autofree char *quoted = setup->text[id] != NULL
						  ? g_strdup_printf("'%s'", setup->text[id])
						  : NULL;

		if (job->at[id].path == NULL)
			continue;
		if (g_str_has_prefix(error->message, name) &&
			!g_ascii_isalnum(error->message[strlen(name)]) &&
			error->message[strlen(name)] != '-') {
			found = id;
			break;
		}
		if (found == PIPESIM_SET_NONE && quoted != NULL &&
			strstr(error->message, quoted) != NULL)
			found = id;
	}
	if (found != PIPESIM_SET_NONE)
		pipesim_error_locate(
			error, job->at[found].path, job->at[found].line, job->at[found].column);
}

/* Writing ----------------------------------------------------------------------------------- */

static void append_key(GString *out, const char *key, const char *value)
{
	g_string_append_printf(out, "%s = ", key);
	pipesim_ini_append_text(out, value);
	g_string_append_c(out, '\n');
}

/* "F=24,B=47" as a line each, where they then say the same. */
static gboolean append_parts(GString *out, const char *times)
{
	g_auto(GStrv) items = g_strsplit(times, ",", -1);
	guint seen = 0;

	for (char **item = items; *item != NULL; item++) {
		const gsize length = strcspn(*item, "=");
		guint part = 0;

		while (parts[part] != NULL && (strlen(parts[part]) != length ||
						      strncmp(*item, parts[part], length) != 0))
			part++;
		if (parts[part] == NULL || (*item)[length] != '=' ||
			(*item)[length + 1] == '\0' || (seen & 1u << part) ||
			strpbrk(*item, " \t\r\n\\") != NULL)
			return FALSE;
		seen |= 1u << part;
	}
	for (char **item = items; *item != NULL; item++) {
		g_autofree char *part = g_strndup(*item, strcspn(*item, "="));

		g_string_append_printf(out, "%s = %s\n", part, *item + strlen(part) + 1);
	}
	return items[0] != NULL;
}

/* The options of @topic that are given, below the name of their group. Those of the shape stand in [job]. */
static void append_topic(
	const PipesimSetup *setup, PipesimTopic topic, const char *folder, GString *out)
{
	const gsize begin = out->len;

	if (topic != PIPESIM_TOPIC_SHAPE)
		g_string_append_printf(out, "\n[%s]\n", pipesim_topics[topic].name);
	const gsize head = out->len;

	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];
		const char *const one[] = {setup->text[id], NULL};
		const char *const *values =
			setting->repeated ? (const char *const *)setup->list[id] : one;

		if (setting->topic != topic || setting->everywhere || setup->derived[id])
			continue;
		if (setup->flag[id])
			g_string_append_printf(out, "%s = yes\n", setting->name + 2);
		for (; values != NULL && *values != NULL; values++) {
			g_autofree char *value =
				rename_files(*values, setting->path, folder, to_folder);

			if (id != PIPESIM_SET_TIMES || !append_parts(out, value))
				append_key(out, setting->name + 2, value);
		}
	}
	if (topic != PIPESIM_TOPIC_SHAPE && out->len == head)
		g_string_truncate(out, begin);
}

gboolean pipesim_job_file_print(const PipesimSetup *setup, const char *command,
	PipesimSettingPath kind, const char *path, GString *out, GError **error)
{
	g_autofree char *folder = g_path_get_dirname(path);

	g_string_append_printf(out, "[%s]\ncommand = %s\n", job_group, command);
	for (guint i = 0; i < setup->n_operands; i++) {
		g_autofree char *name =
			rename_files(setup->operands[i], kind, folder, to_folder);

		append_key(out, "operand", name);
	}
	for (guint topic = 0; topic < PIPESIM_N_TOPICS; topic++)
		append_topic(setup, topic, folder, out);
	return g_utf8_validate(out->str, (gssize)out->len, NULL) ||
	       pipesim_refuse(error, "--write-job: a name is no text in UTF-8, as job files "
				     "are; rename that file");
}
