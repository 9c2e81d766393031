#include "link-oracle.h"

typedef struct {
	const PipesimProgram *program;
	const PipesimTimes *times;
	const PipesimNetwork *network;
	LinkOracle *result;
	gint64 now;
	gint64 *left;    /* by op, 1 / num ns */
	gboolean *alive; /* by op: runs */
	guint32 *next;   /* by rank */
} Model;

static OracleMessage *message(const Model *model, guint i)
{
	return &g_array_index(model->result->messages, OracleMessage, i);
}

static guint node_of(const PipesimNetwork *network, guint rank)
{
	return network->ranks_per_node == 0 ? 0 : rank / network->ranks_per_node;
}

static char *nic_name(const PipesimNetwork *network, guint rank, const char *way)
{
	const guint local = rank % network->ranks_per_node;
	guint nic = local * network->nics / network->ranks_per_node;

	if (network->nic_of != NULL)
		nic = network->nic_of[local];
	return g_strdup_printf("node %u NIC %u%s", node_of(network, rank), nic, way);
}

static char *pair_name(guint from, guint to, gboolean half)
{
	return half ? g_strdup_printf("%u - %u", MIN(from, to), MAX(from, to))
		    : g_strdup_printf("%u > %u", from, to);
}

static void find_way(const PipesimNetwork *network, OracleMessage *m)
{
	const guint from = m->from_rank, to = m->to_rank;
	const gboolean inside = node_of(network, from) == node_of(network, to);
	const PipesimLinkSpeed *speed = inside ? &network->intra : &network->inter;
	const char *out = speed->half ? "" : " out", *in = speed->half ? "" : " in";

	m->latency = speed->latency;
	if (speed->bandwidth > 0) /* small numbers: no care for overflow */
		m->hold = (network->message_bytes * 1000000000 + speed->bandwidth - 1) /
			  speed->bandwidth;
	if (inside && network->share == PIPESIM_LINK_NODE) {
		m->link[0] = g_strdup_printf("node %u", node_of(network, from));
	} else if (inside && network->share == PIPESIM_LINK_RANK) {
		m->link[0] = g_strdup_printf("rank %u%s", from, out);
		m->link[1] = g_strdup_printf("rank %u%s", to, in);
	} else if (!inside && network->nics > 0) {
		m->link[0] = nic_name(network, from, out);
		m->link[1] = nic_name(network, to, in);
	} else {
		m->link[0] = pair_name(from, to, speed->half);
	}
}

static void complete(Model *model, guint32 op)
{
	const guint rank = pipesim_program_rank(model->program, op);
	guint32 outputs[2];
	const guint n = pipesim_program_outputs(
		model->program, rank, &model->program->ops[op], outputs);

	model->alive[op] = FALSE;
	model->result->end[op] = model->now;
	model->next[rank]++;
	for (guint i = 0; i < n; i++) {
		OracleMessage m = {.from = op,
			.to = outputs[i],
			.from_rank = rank,
			.to_rank = pipesim_program_rank(model->program, outputs[i]),
			.ready = model->now,
			.start = -1};

		if (m.to_rank == rank)
			continue;
		find_way(model->network, &m);
		g_array_append_val(model->result->messages, m);
	}
}

static gboolean complete_one(Model *model)
{
	for (guint32 op = 0; op < model->program->n_ops; op++)
		if (model->alive[op] && model->left[op] <= 0) {
			complete(model, op);
			return TRUE;
		}
	return FALSE;
}

static gboolean share(const OracleMessage *a, const OracleMessage *b)
{
	for (guint i = 0; i < 2; i++)
		for (guint j = 0; j < 2; j++)
			if (a->link[i] != NULL && g_strcmp0(a->link[i], b->link[j]) == 0)
				return TRUE;
	return FALSE;
}

static gboolean may_move(const Model *model, guint i)
{
	for (guint before = 0; before < i; before++) {
		const OracleMessage *m = message(model, before);

		if ((m->start < 0 || m->start + m->hold > model->now) &&
			share(m, message(model, i)))
			return FALSE;
	}
	return TRUE;
}

static void move_messages(Model *model)
{
	for (guint i = 0; i < model->result->messages->len; i++)
		if (message(model, i)->start < 0 && may_move(model, i))
			message(model, i)->start = model->now;
}

const OracleMessage *link_oracle_find(
	const LinkOracle *oracle, const guint32 *inputs, guint i, guint32 to)
{
	/* Of two messages from one op to another the activation comes first. */
	guint skip = i == 1 && inputs[0] == inputs[1];

	for (guint at = 0; at < oracle->messages->len; at++) {
		const OracleMessage *m = &g_array_index(oracle->messages, OracleMessage, at);

		if (m->from == inputs[i] && m->to == to && skip-- == 0)
			return m;
	}
	return NULL;
}

static gboolean is_there(const Model *model, const guint32 *inputs, guint i, guint32 to)
{
	const OracleMessage *m;

	if (pipesim_program_rank(model->program, inputs[i]) ==
		pipesim_program_rank(model->program, to))
		return model->result->end[inputs[i]] >= 0;
	m = link_oracle_find(model->result, inputs, i, to);
	return m != NULL && m->start >= 0 && m->start + m->hold + m->latency <= model->now;
}

/* A weight gradient where the backward for input is nothing is a whole backward. */
static const PipesimFraction *slowdown_of(const Model *model, guint rank, guint32 op)
{
	const PipesimOp *of = &model->program->ops[op];
	const guint stage = pipesim_op_stage(model->program, rank, of);
	const gboolean whole =
		of->kind == PIPESIM_W && 64 * model->times->stage[PIPESIM_I][stage] <
						 model->times->stage[PIPESIM_W][stage];

	return &model->network->slowdown[whole ? PIPESIM_B : of->kind];
}

static void start_ops(Model *model)
{
	const PipesimProgram *program = model->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint32 op = model->next[rank];
		guint32 inputs[2];
		guint n, there = 0;

		if (op == program->rank_begin[rank + 1] || model->alive[op])
			continue;
		n = pipesim_program_inputs(program, rank, &program->ops[op], inputs);
		for (guint i = 0; i < n; i++)
			there += is_there(model, inputs, i, op);
		if (there < n)
			continue;
		model->alive[op] = TRUE;
		model->result->start[op] = model->now;
		model->left[op] =
			pipesim_op_duration(program, model->times, rank, &program->ops[op]) *
			slowdown_of(model, rank, op)->num;
	}
}

static gboolean is_slowed(const Model *model, guint rank)
{
	for (guint i = 0; i < model->result->messages->len; i++) {
		const OracleMessage *m = message(model, i);

		if ((m->from_rank == rank || m->to_rank == rank) && m->start >= 0 &&
			m->start <= model->now && model->now < m->start + m->hold + m->latency)
			return TRUE;
	}
	return FALSE;
}

static void tick(Model *model)
{
	for (guint rank = 0; rank < model->program->shape.ranks; rank++) {
		const guint32 op = model->next[rank];
		const PipesimFraction *slow;

		if (op == model->program->rank_begin[rank + 1] || !model->alive[op])
			continue;
		slow = slowdown_of(model, rank, op);
		model->left[op] -= is_slowed(model, rank) ? slow->den : slow->num;
	}
	model->now++;
}

static gboolean all_done(const Model *model)
{
	for (guint rank = 0; rank < model->program->shape.ranks; rank++)
		if (model->next[rank] < model->program->rank_begin[rank + 1])
			return FALSE;
	return TRUE;
}

static void free_message(gpointer data)
{
	OracleMessage *m = data;

	g_free(m->link[0]);
	g_free(m->link[1]);
}

LinkOracle *link_oracle_new(
	const PipesimProgram *program, const PipesimTimes *times, const PipesimNetwork *network)
{
	LinkOracle *result = g_new0(LinkOracle, 1);
	Model model = {.program = program,
		.times = times,
		.network = network,
		.result = result,
		.left = g_new0(gint64, program->n_ops),
		.alive = g_new0(gboolean, program->n_ops),
		.next = g_new0(guint32, program->shape.ranks)};

	result->messages = g_array_new(FALSE, TRUE, sizeof(OracleMessage));
	g_array_set_clear_func(result->messages, free_message);
	result->start = g_new0(gint64, program->n_ops);
	result->end = g_new0(gint64, program->n_ops);
	for (guint32 op = 0; op < program->n_ops; op++)
		result->end[op] = -1;
	for (guint rank = 0; rank < program->shape.ranks; rank++)
		model.next[rank] = program->rank_begin[rank];
	for (;;) {
		do {
			move_messages(&model);
			start_ops(&model);
		} while (complete_one(&model));
		if (all_done(&model))
			break;
		tick(&model);
	}
	result->makespan = model.now;
	g_free(model.left);
	g_free(model.alive);
	g_free(model.next);
	return result;
}

void link_oracle_free(LinkOracle *oracle)
{
	g_free(oracle->start);
	g_free(oracle->end);
	g_array_unref(oracle->messages);
	g_free(oracle);
}
