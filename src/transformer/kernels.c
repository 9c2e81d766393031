#include "transformer/kernels.h"
#include "base/phases.h"

typedef struct {
	const PipesimTransformer *model;
	const PipesimTraining *training;
	GArray *kernels;
	double h, t, T, Tp, V, g; /* as in terms.h */
	double q, kv;             /* widths of queries, and of keys and values */
	double gradient;          /* bytes of a gradient that is added up */
	double cast;     /* bytes moved to convert an element of an operand; 0 = BF16 */
	gboolean again;  /* what is added now is computed again in I */
	gboolean held;   /* it is in a graph, which launches it */
	gboolean sewn;   /* the gradient of its output comes converted */
	gboolean spared; /* its product is not, where a whole layer is */
} List;

static void init(List *x, const PipesimTransformer *model, const PipesimTraining *training)
{
	/* What converts a BF16 element, read once or, for the largest of the tensor or of its row, twice, into the
	 * operand and its transpose: delayed scaling knows the largest from steps before; blocks and MX find theirs on
	 * the way. PyTorch's torchao does each by itself. */
	static const double casts[] = {[PIPESIM_BF16] = 0,
		[PIPESIM_FP16] = 0,
		[PIPESIM_FP8] = 6,
		[PIPESIM_FP8_CS] = 6,
		[PIPESIM_FP8_DS] = 4,
		[PIPESIM_FP8_MX] = 4,
		[PIPESIM_FP8_BLOCK] = 4,
		[PIPESIM_FP8_TENSORWISE] = 8,
		[PIPESIM_FP8_ROWWISE] = 10,
		[PIPESIM_NVFP4] = 6};
	const gboolean latent = model->kv_rank > 0;

	x->model = model;
	x->training = training;
	x->h = (double)model->hidden;
	x->t = (double)training->tp;
	x->T = (double)pipesim_training_tokens(training);
	x->Tp = training->sequence_parallel ? x->T / x->t : x->T;
	x->V = (double)pipesim_training_vocab(model, training);
	x->g = model->gated ? 2 : 1;
	x->q = latent ? (double)model->heads * (double)(model->nope + model->rope)
		      : (double)pipesim_transformer_q(model);
	x->kv = latent ? (double)model->heads * (double)(model->nope + model->rope)
		       : (double)pipesim_transformer_kv(model);
	x->gradient = pipesim_training_gradient(training);
	x->cast = casts[training->precision];
	x->held = training->graphs >= PIPESIM_GRAPHS_LAYERS;
}

static gboolean drops(const List *x, PipesimRecompute module)
{
	return pipesim_training_drops(x->training, module);
}

/* What torchtitan computes again op by op: PIPESIM_RECOMPUTE_OPS. */
static gboolean by_ops(const List *x)
{
	return drops(x, PIPESIM_RECOMPUTE_OPS);
}

static void add(List *x, PipesimKernel kernel)
{
	kernel.again = x->again && kernel.phase == F;
	kernel.spared = x->spared && kernel.phase == F && kernel.kind == PIPESIM_KERNEL_PRODUCT;
	kernel.launches = x->held || kernel.plain > 0 ? 0 : MAX(kernel.launches, 1);
	kernel.plain = x->held ? 0 : kernel.plain;
	/* What a model has none of is no kernel; rows that stay on a rank take time in captures. */
	if (kernel.bytes + kernel.flops > 0 || kernel.kind == PIPESIM_KERNEL_WAIT ||
		(kernel.kind == PIPESIM_KERNEL_ROWS && kernel.m > 0))
		g_array_append_val(x->kernels, kernel);
}

/* Memory ----------------------------------------------------------------------------------- */

/* Bytes moved in F and in I. Each tensor counts once for every kernel that reads or writes it,
 * as TransformerEngine and Megatron-Core fuse them. */
static void move_by(List *x, const char *what, PipesimMove at, double forward, double backward,
	guint launches)
{
	const double bytes[] = {forward, backward};

	for (guint phase = F; phase <= I; phase++)
		add(x, (PipesimKernel){.what = what,
			       .kind = PIPESIM_KERNEL_MOVE,
			       .phase = phase,
			       .move = at,
			       .bytes = bytes[phase],
			       .launches = launches});
}

/* Whether what stands between products is an operation of its own each. */
static gboolean is_apart(const List *x)
{
	return x->training->eager && !x->training->compiled;
}

/* PyTorch's own modules take @apart kernels for what is one there. */
static void move(
	List *x, const char *what, PipesimMove at, double forward, double backward, guint apart)
{
	move_by(x, what, at, forward, backward, is_apart(x) ? apart : 1);
}

/* A norm reads and writes its input; backward it reads that and the gradient, and writes one.
 * PyTorch's reads both once more for the gradient of its weights. */
static void add_norm(List *x, double width)
{
	if (is_apart(x))
		move_by(x, "norm", PIPESIM_MOVE_NORMS, 4 * width, 10 * width, 2);
	else
		move(x, "norm", PIPESIM_MOVE_ELEMENTS, 4 * width, 6 * width, 2);
}

/* An add reads two and writes one; backward the gradient of both ways is added up. */
static void add_residual(List *x)
{
	move(x, "residual", PIPESIM_MOVE_ELEMENTS, 6 * x->h * x->Tp, 6 * x->h * x->Tp, 1);
}

/* Reads what comes out of the first product and writes the input of the second; backward reads
 * both and the gradient, and writes one. PyTorch's SiLU and the product with it are two kernels,
 * and backward four. */
static void add_activation(List *x, double elements, guint groups)
{
	const gboolean apart = is_apart(x) && x->g == 2;

	move(x, "activation", PIPESIM_MOVE_ELEMENTS, (apart ? 10 : 2 * (x->g + 1)) * elements,
		(apart ? 18 : 2 * (2 * x->g + 1)) * elements, 3 * groups);
}

/* FSDP copies what it gathered to where @parameters are used, forward and backward, and puts their gradients together in
 * FP32 by a kernel that reaches what indexed ones do (traces/torchtitan-h200x4). */
static void share(List *x, double parameters)
{
	move_by(x, "gathered parameters", PIPESIM_MOVE_COPIES, 4 * parameters, 4 * parameters,
		1);
	add(x, (PipesimKernel){.what = "gradients put together",
		       .kind = PIPESIM_KERNEL_MOVE,
		       .phase = W,
		       .move = PIPESIM_MOVE_INDEXED,
		       .bytes = 6 * parameters});
}

/* Gradients of @parameters are read, added to and written for each micro-batch. */
static void add_up(List *x, double parameters, double groups)
{
	if (pipesim_training_gathers_layers(x->training)) {
		share(x, parameters);
		return;
	}
	add(x, (PipesimKernel){.what = "gradients added up",
		       .kind = PIPESIM_KERNEL_MOVE,
		       .phase = W,
		       .move = PIPESIM_MOVE_COPIES,
		       /* PyTorch's products write theirs first. */
		       .bytes = (2 * x->gradient + (x->training->eager ? 2 : 0)) * parameters,
		       .launches = pipesim_training_loops_experts(x->training) ? (guint)groups
									       : 1});
}

/* Products --------------------------------------------------------------------------------- */

/* Of a linear layer of @in and @out columns on this rank, @groups of them over @rows rows each:
 * F, I and W. In FP8 its input and the gradient of its output are converted first; @fresh: where
 * no other layer converts the same input. */
static void add_groups(List *x, PipesimWork work, const char *what, double rows, double in,
	double out, double groups, gboolean fresh)
{
	/* Of F, I and W: rows, columns, and what is summed over. */
	const double m[] = {rows, rows, out}, n[] = {out, in, in}, k[] = {in, out, rows};
	const gboolean narrow = x->cast > 0 && work != PIPESIM_WORK_HEAD;

	if (narrow)
		move_by(x, "casts", PIPESIM_MOVE_ELEMENTS,
			fresh ? x->cast * rows * in * groups : 0,
			x->sewn ? 0 : x->cast * rows * out * groups, 2);
	for (guint phase = F; phase <= W; phase++)
		add(x, (PipesimKernel){.what = what,
			       .kind = PIPESIM_KERNEL_PRODUCT,
			       .work = work,
			       .phase = phase,
			       .narrow = narrow,
			       .m = m[phase],
			       .n = n[phase],
			       .k = k[phase],
			       .groups = groups,
			       .flops = 2 * rows * in * out * groups,
			       .launches = pipesim_training_loops_experts(x->training)
						   ? (guint)groups
					   : x->training->titan ? 1
								: 1 + (guint)groups / 8});
	add_up(x, in * out * groups, groups);
}

static void add_linear(
	List *x, PipesimWork work, const char *what, double rows, double in, double out)
{
	add_groups(x, work, what, rows, in, out, 1, TRUE);
}

/* A gather ahead of a linear layer with @out columns and a scatter behind one of @in, or an
 * all-reduce, which is as much; in I the same. Each may go beside the product that it feeds or
 * is fed by. */
static void add_tensor(List *x, double out, double in)
{
	const double bytes = 2 * x->h * x->T * (x->t - 1) / x->t;
	const gboolean again = x->again;

	for (guint i = 0; i < 4 && x->t > 1; i++) {
		x->again = again || (i == 0 && by_ops(x));
		add(x, (PipesimKernel){.what = "tensor parallelism",
			       .kind = PIPESIM_KERNEL_TENSOR,
			       .phase = i / 2,
			       .narrow = x->cast > 0,
			       .m = x->T,
			       .n = i % 2 == 0 ? out : x->h,
			       .k = i % 2 == 0 ? x->h : in,
			       .groups = 1,
			       .bytes = bytes});
	}
	x->again = again;
}

/* Attention -------------------------------------------------------------------------------- */

/* What Megatron-Core does where TransformerEngine's one kernel does not. */
static void rotate_by_ops(List *x, double rotated)
{
	for (guint phase = F; phase <= I; phase++)
		add(x, (PipesimKernel){.what = "rope",
			       .kind = PIPESIM_KERNEL_MOVE,
			       .phase = phase,
			       .move = PIPESIM_MOVE_ELEMENTS,
			       .bytes = 20 * rotated,
			       .plain = 10});
}

/* Multi-head latent attention: projections down on every rank, up over TP. */
static void add_latent(List *x)
{
	const PipesimTransformer *model = x->model;
	const double rq = (double)model->q_rank, rk = (double)model->kv_rank;
	const double heads = (double)model->heads / x->t;
	const double qk = heads * (double)(model->nope + model->rope);
	const double up = heads * (double)(model->nope + model->v_dim);
	const double rope = (double)model->rope;

	if (rq > 0)
		add_linear(x, PIPESIM_WORK_PROJECTION, "q down", x->Tp, x->h, rq);
	else
		add_linear(x, PIPESIM_WORK_PROJECTION, "q", x->T, x->h, qk);
	add_groups(
		x, PIPESIM_WORK_PROJECTION, "k and v down", x->Tp, x->h, rk + rope, 1, FALSE);
	if (model->qk_norm)
		add_norm(x, (rq + rk) * x->Tp);
	x->again = drops(x, PIPESIM_RECOMPUTE_MLA_UP);
	if (rq > 0)
		add_linear(x, PIPESIM_WORK_PROJECTION, "q up", x->T, rq, qk);
	add_linear(x, PIPESIM_WORK_PROJECTION, "k and v up", x->T, rk, up);
	/* q and k are put together of their parts, with RoPE. */
	move(x, "rope", PIPESIM_MOVE_ELEMENTS, 8 * qk * x->T, 8 * qk * x->T, 4);
	/* The key's part is one for all heads. */
	if (x->training->unfused_rope && !x->training->eager)
		rotate_by_ops(x, (heads + 1) * rope * x->T);
	x->again = FALSE;
}

/* torchtitan's are three matrices, of which the second is computed again; gradients of their input are added. */
static void add_three(List *x)
{
	const double kv = x->kv / x->t;

	add_linear(x, PIPESIM_WORK_PROJECTION, "q", x->T, x->h, x->q / x->t);
	x->again = TRUE;
	add_linear(x, PIPESIM_WORK_PROJECTION, "k", x->T, x->h, kv);
	x->again = FALSE;
	add_linear(x, PIPESIM_WORK_PROJECTION, "v", x->T, x->h, kv);
	move_by(x, "gradients of the input", PIPESIM_MOVE_ELEMENTS, 0, 12 * x->h * x->T, 2);
}

static void add_heads(List *x)
{
	const double rotated = (x->q + x->kv) * x->T / x->t;

	if (by_ops(x))
		add_three(x);
	else
		add_linear(x, PIPESIM_WORK_PROJECTION, "q, k and v", x->T, x->h,
			(x->q + 2 * x->kv) / x->t);
	x->again = by_ops(x);
	if (x->model->qk_norm)
		add_norm(x, rotated);
	/* Halves of a head negated and put together, both products and their sum; backward too,
	 * and gradients of q, k and v side by side. TransformerEngine's one kernel does not scale what it rotates: Megatron-Core
	 * then does as PyTorch (apply_rotary_pos_emb(), mscale). */
	if (x->training->eager) {
		if (x->model->positions == 0 && is_apart(x))
			move_by(x, "rope", PIPESIM_MOVE_TURNS, 20 * rotated, 20 * rotated, 10);
		else if (x->model->positions == 0)
			move(x, "rope", PIPESIM_MOVE_ELEMENTS, 4 * rotated, 4 * rotated, 1);
		if (!by_ops(x))
			move_by(x, "gradients of q, k and v", PIPESIM_MOVE_ELEMENTS, 0,
				4 * (x->q + 2 * x->kv) * x->T / x->t, 1);
	} else if (x->model->yarn || x->training->unfused_rope) {
		rotate_by_ops(x, rotated);
	} else {
		move(x, "rope", PIPESIM_MOVE_ELEMENTS, 4 * rotated, 4 * rotated, 6);
	}
	x->again = FALSE;
}

/* Keys and values of other ranks pass by, each hop beside the attention of the one before; or
 * heads are exchanged ahead of attention and behind it. */
static void add_context(List *x, double out, double head, double flops)
{
	const PipesimTraining *training = x->training;
	const gboolean latent = x->model->kv_rank > 0;
	const double cp = (double)training->cp;
	const double passed = latent ? x->q + out : 2 * x->kv;
	const double swapped = latent ? 2 * x->q + 2 * out : 2 * x->q + 2 * x->kv;
	const double bytes = training->cp_all_to_all ? 2 * swapped * x->T / x->t * (cp - 1) / cp
						     : 2 * passed * x->T / x->t * (cp - 1);

	for (guint phase = F; phase <= I && cp > 1; phase++)
		add(x, (PipesimKernel){.what = "context parallelism",
			       .kind = PIPESIM_KERNEL_CONTEXT,
			       .phase = phase,
			       /* Backward gradients of both go along. */
			       .bytes = bytes * (training->cp_all_to_all ? 1 : phase + 1),
			       .k = head,
			       .flops = training->cp_all_to_all ? 0 : flops,
			       .launches =
				       training->cp_all_to_all ? 4 : 2 * (guint)training->cp});
	if (!training->eager || training->cp_all_to_all || cp == 1)
		return;
	/* PyTorch adds up in FP32, kernel by kernel, what each block adds to the output and to the gradients
	 * (_SDPAMerger; 1.7 ms of 32768 tokens of 4096 on an H200, traces/context-h200x4), and its gradients of keys and
	 * values, in FP32 too, go on once more behind the last block. */
	move_by(x, "merges of blocks", PIPESIM_MOVE_ELEMENTS, 50 * cp * out * x->T / x->t,
		50 * cp * out * x->T / x->t, 12 * (guint)training->cp);
	add(x, (PipesimKernel){.what = "gradients of keys and values",
		       .kind = PIPESIM_KERNEL_CONTEXT,
		       .phase = I,
		       .bytes = 4 * passed * x->T / x->t,
		       .launches = 2});
}

static void add_attention(List *x)
{
	const PipesimTransformer *model = x->model;
	const PipesimTraining *training = x->training;
	const gboolean latent = model->kv_rank > 0;
	const double out = latent ? (double)model->heads * (double)model->v_dim : x->q;
	const double head =
		latent ? (double)(model->nope + model->rope) : (double)model->head_dim;
	const double seen = pipesim_transformer_seen(model, training->seq);
	const double flops = (x->q + out) * x->T * seen / x->t;
	/* Scores that are written compute the other half of the square too. */
	const double whole = model->both_ways ? 1 : 2;
	const double phases[] = {training->unfused ? whole * flops : flops,
		training->unfused ? 2 * whole * flops : 2.5 * flops};
	const double scores = x->T * seen * whole / 2 * (double)model->heads / x->t;

	/* A norm that is part of the linear layer behind it is not dropped. */
	x->again = (latent && drops(x, PIPESIM_RECOMPUTE_NORM)) || by_ops(x);
	add_norm(x, x->h * x->Tp);
	x->again = FALSE;
	add_tensor(x, (x->q + 2 * x->kv) / x->t, out / x->t);
	if (latent)
		add_latent(x);
	else
		add_heads(x);
	add_context(x, out, head, flops);
	/* Backward, flash attention first reads its output and the gradient of that; it is part of
	 * what PyTorch's takes. */
	if (!training->eager)
		move(x, "attention's output", PIPESIM_MOVE_ELEMENTS, 0, 4 * x->q * x->T / x->t,
			1);
	x->again = training->unfused && drops(x, PIPESIM_RECOMPUTE_CORE);
	for (guint phase = F; phase <= I; phase++)
		add(x, (PipesimKernel){.what = "attention",
			       .kind = PIPESIM_KERNEL_ATTENTION,
			       .work = PIPESIM_WORK_CORE,
			       .phase = phase,
			       .k = head,
			       .groups = (double)(model->heads * training->microbatch) / x->t,
			       .flops = phases[phase]});
	/* Written, masked and normalized, dropped, read; backward the same of gradients. */
	if (training->unfused)
		move(x, "scores", PIPESIM_MOVE_ELEMENTS,
			(model->dropout_attention ? 13 : 8) * scores,
			(model->dropout_attention ? 16 : 12) * scores, 4);
	x->again = by_ops(x);
	add_linear(x, PIPESIM_WORK_PROJECTION, "output", x->T, out / x->t, x->h);
	add_residual(x);
	x->again = FALSE;
}

/* MLPs and experts ------------------------------------------------------------------------- */

static void add_mlp(List *x, double ffn)
{
	const gboolean again = x->again;

	/* PyTorch's are two matrices, whose gradients of the input are added. */
	for (guint i = 0; x->training->eager && i < x->g; i++) {
		x->again = again || (i == 1 && by_ops(x));
		add_linear(x, PIPESIM_WORK_MLP, "MLP, first", x->T, x->h, ffn / x->t);
	}
	x->again = again;
	if (!x->training->eager)
		add_linear(x, PIPESIM_WORK_MLP, "MLP, first", x->T, x->h, x->g * ffn / x->t);
	else if (x->g > 1)
		move_by(x, "gradients of the input", PIPESIM_MOVE_ELEMENTS, 0, 6 * x->h * x->T,
			1);
	x->again = again || by_ops(x);
	add_activation(x, ffn * x->T / x->t, 1);
	x->again = again;
	/* checkpoint() stops ahead of the product behind the last tensor that is saved. */
	x->spared = x->training->eager;
	add_linear(x, PIPESIM_WORK_MLP, "MLP, second", x->T, ffn / x->t, x->h);
	x->spared = FALSE;
}

static void add_dense(List *x)
{
	x->again = drops(x, PIPESIM_RECOMPUTE_MLP) || by_ops(x);
	add_norm(x, x->h * x->Tp);
	x->again = drops(x, PIPESIM_RECOMPUTE_MLP);
	add_tensor(x, x->g * (double)x->model->ffn / x->t, (double)x->model->ffn / x->t);
	add_mlp(x, (double)x->model->ffn);
	x->again = FALSE;
	add_residual(x);
}

/* Rows of a micro-batch that the experts of a rank compute. */
static double rows_of_experts(const List *x)
{
	const PipesimTraining *training = x->training;
	const double balanced =
		x->T * (double)x->model->per_token * (double)training->etp / x->t;

	return training->routing.den > 0 ? balanced * (double)training->routing.num /
						   (double)training->routing.den
					 : balanced;
}

/* Ranks of @ranks that a token of balanced routing to @k experts goes to. */
static double reached(double ranks, double k)
{
	return ranks * (1 - pow(1 - 1 / ranks, k));
}

/* Rows to their experts, or back: of those that leave a rank some stay in its node. Dispatchers
 * that know nodes send a token once to each where it has an expert, and once to each rank there. */
static void send_rows(List *x, const char *what, guint phase, double rows, double bytes)
{
	const PipesimTraining *training = x->training;
	const gboolean each = pipesim_training_dispatcher(training) == PIPESIM_ALL_TO_ALL;
	const double ranks = (double)(training->ep * training->etp);
	const double near = MIN(ranks, (double)training->node), nodes = ranks / near;
	const double k = (double)x->model->per_token * (double)training->etp;
	double others = reached(nodes, k) * (nodes - 1) / nodes;
	PipesimKernel kernel = {.what = what,
		.kind = PIPESIM_KERNEL_ROWS,
		.phase = phase,
		.m = rows,
		.k = 2 * x->h,
		.bytes = bytes * rows * (near - 1) / ranks,
		.far = bytes * rows * (1 - near / ranks),
		/* Probabilities travel on their own. */
		.launches = training->eager && ranks == 1 ? 1
			    : each                        ? 4
							  : 2};

	/* Beside the other op of a pair a layer runs as four nodes, each one more operation of the host, with events of
	 * both streams (Megatron-Core, TransformerLayerSchedulePlan and ScheduleNode): two stand with each of dispatch and
	 * combine. */
	if (training->ep_overlap && !training->eager && !training->deepseek)
		kernel.launches += 2;

	if (x->model->node_limit > 0)
		others = MIN(others, (double)x->model->node_limit * (nodes - 1) / nodes);
	if (!each) {
		kernel.far = bytes * rows * others / k;
		kernel.bytes = bytes * rows * reached(ranks, k) / k * (near - 1) / near;
	}
	add(x, kernel);
}

/* Tokens into the order of experts and back, as often as each is copied; backward the same of gradients. An all-to-all wants
 * rows by rank, which are put into the order of its experts once they came. */
static void order_rows(List *x, double rows, gboolean each)
{
	const PipesimTraining *training = x->training;
	const double k = (double)x->model->per_token * (double)training->etp;
	const double ranks = (double)(training->ep * training->etp);
	const double came = each || ranks == 1 ? 1 / k : reached(ranks, k) / k;
	const double bytes = 4 * (1 + came + (each && ranks > 1 ? 2 : 0)) * x->h * rows;

	/* Gathered, put together, weighted and added up by index. torchtitan's, whose indices an all-to-all has put in
	 * order twice: 77 and 85 bytes as their kernels took in runs of two models (traces/torchtitan-h200x4), of which
	 * a third is forward; sums in FP32. */
	if (training->titan)
		move_by(x, "rows in order", PIPESIM_MOVE_INDEXED,
			(26 + (ranks > 1 ? 3 : 0)) * x->h * rows,
			(51 + (ranks > 1 ? 5 : 0)) * x->h * rows, 16);
	else if (training->eager)
		move_by(x, "rows in order", PIPESIM_MOVE_INDEXED, 18 * x->h * rows,
			24 * x->h * rows, 8);
	else
		move_by(x, "rows in order", PIPESIM_MOVE_ROWS, bytes, bytes,
			each && ranks > 1 ? 8 : 4);
}

/* Both products of experts, @n of @each rows. Where graphs hold the whole step, kernels for MXFP8 and NVFP4 apply the
 * activation and convert its output, and its gradient, as they write: CuTeDSL's fused grouped MLP, whose tiles are 256 wide and
 * want both sizes to be multiples of it (TransformerEngine, validate_grouped_mlp_dims(); 64 since it takes biases too). */
static void add_grouped(List *x, double rows, double n, double fe, gboolean all)
{
	const PipesimTraining *training = x->training;
	const gboolean fused = training->graphs == PIPESIM_GRAPHS_STEP && x->cast > 0 &&
			       x->model->hidden % 256 == 0 && x->model->expert_ffn % 256 == 0;

	x->sewn = fused;
	for (guint i = 0; i < (training->eager ? x->g : 1); i++)
		add_groups(x, PIPESIM_WORK_EXPERT, "experts, first", rows / n, x->h,
			training->eager ? fe : x->g * fe, n, TRUE);
	x->sewn = FALSE;
	x->again = all || drops(x, PIPESIM_RECOMPUTE_MOE_ACT);
	if (!fused)
		add_activation(x, fe * rows, training->titan ? 1 : (guint)n);
	x->again = all;
	add_groups(x, PIPESIM_WORK_EXPERT, "experts, second", rows / n, fe, x->h, n, !fused);
	/* Behind the second product Megatron-Core adds what it weighs by probabilities in FP32, expert by expert, and joins these
	 * (TEGroupedMLP._apply_bias()): product, sum, join and conversion; backward the conversions, and of both factors the
	 * product and its sum. */
	if (x->model->ffn_bias && !fused && !training->eager) {
		const double bytes[] = {28 * x->h * rows, 40 * x->h * rows};
		const guint plain[] = {2 * (guint)n + 2, 6 * (guint)n + 2};

		for (guint phase = F; phase <= I; phase++)
			add(x, (PipesimKernel){.what = "bias of experts",
				       .kind = PIPESIM_KERNEL_MOVE,
				       .phase = phase,
				       .move = PIPESIM_MOVE_ELEMENTS,
				       .bytes = bytes[phase],
				       .plain = plain[phase]});
	}
}

static void add_experts(List *x)
{
	const PipesimTransformer *model = x->model;
	const PipesimTraining *training = x->training;
	const PipesimDispatcher dispatcher = pipesim_training_dispatcher(training);
	const gboolean each = dispatcher == PIPESIM_ALL_TO_ALL;
	const double fe = (double)(model->expert_ffn / training->etp);
	const double rows = rows_of_experts(x);
	const double experts = (double)model->experts / (double)training->ep;
	const gboolean all = drops(x, PIPESIM_RECOMPUTE_MOE), held = x->held;
	const gboolean router = training->graphs >= PIPESIM_GRAPHS_ROUTER;
	/* DeepEP dispatches in FP8 where products are, as DeepSeek has it. */
	const double narrow = training->fp8 && dispatcher == PIPESIM_DEEPEP &&
					      training->ep * training->etp > training->node
				      ? 1
				      : 2;

	x->again = drops(x, PIPESIM_RECOMPUTE_NORM) && !all;
	add_norm(x, x->h * x->Tp);
	x->again = all;
	x->held = router;
	add_linear(x, PIPESIM_WORK_HEAD, "router", x->Tp, x->h, (double)model->experts);
	/* Kernels of router and preparation: 31, and 17 where the dispatcher prepares rows itself
	 * (Megatron-LM, docs/discussions/deepseek-v3-gb200-optimization). PyTorch's own operations: counted with those that put
	 * rows in order, both ways together, in a profile of python/measuring/layers.py. */
	move_by(x, "router", PIPESIM_MOVE_ELEMENTS, 24 * (double)model->experts * x->Tp,
		24 * (double)model->experts * x->Tp,
		training->eager ? 12
		: each          ? 30
				: 16);
	if (training->etp > 1)
		add_tensor(x, x->g * fe, fe);
	x->held = training->graphs == PIPESIM_GRAPHS_STEP;
	if (!x->held)
		add(x, (PipesimKernel){.what = "rows counted",
			       .kind = PIPESIM_KERNEL_WAIT,
			       .phase = F});
	order_rows(x, rows, each);
	send_rows(x, "dispatch", F, rows, narrow * x->h);
	send_rows(x, "combine", F, rows, 2 * x->h);
	send_rows(x, "dispatch", I, rows, 2 * x->h);
	send_rows(x, "combine", I, rows, 2 * x->h);
	add_grouped(x, rows, experts, fe, all);
	x->held = router;
	x->again = all || drops(x, PIPESIM_RECOMPUTE_SHARED);
	if (model->shared_ffn > 0) {
		add_tensor(x, x->g * (double)model->shared_ffn / x->t,
			(double)model->shared_ffn / x->t);
		add_mlp(x, (double)model->shared_ffn);
	}
	x->held = held;
	x->again = FALSE;
	add_residual(x);
}

/* Ends ------------------------------------------------------------------------------------- */

/* Bytes for a logit, F and I: others than TransformerEngine's convert to FP32, exponentiate in
 * place, and scale the softmax. PyTorch's own converts, takes 16 for its log-softmax, backward writes zeros, takes 17 and
 * converts: its kernels for 32768 tokens of 128256 words on an H200 (traces/context-h200x4). */
static void add_head(List *x)
{
	const double logits = x->V / x->t * x->T;
	const gboolean eager = x->training->eager, fused = x->training->compiled;

	add_norm(x, x->h * x->Tp);
	add_linear(x, PIPESIM_WORK_HEAD, "head", x->T, x->h, x->V / x->t);
	/* Compiled it reads logits, once more backward, and writes their gradient. */
	if (x->training->loss == PIPESIM_LOSS_TE)
		move(x, "loss", PIPESIM_MOVE_LOSS, 4 * logits, 4 * logits, 1);
	else
		move(x, "loss", PIPESIM_MOVE_COPIES,
			(fused          ? 2
				: eager ? 22
					: 14) *
				logits,
			(fused          ? 4
				: eager ? 27
					: 10) *
				logits,
			4);
}

GArray *pipesim_kernels(
	const PipesimTransformer *model, const PipesimTraining *training, PipesimPart part)
{
	const gboolean sparse = part == PIPESIM_PART_SPARSE ||
				(part == PIPESIM_PART_MTP &&
					pipesim_transformer_is_sparse(model, model->layers));
	List x = {.kernels = g_array_new(FALSE, FALSE, sizeof(PipesimKernel))};
	PipesimTraining own = *training;

	model = pipesim_part_model(model, &own, &part);
	init(&x, model, &own);
	if (part == PIPESIM_PART_ENCODER) /* there is none */
		return x.kernels;
	if (part == PIPESIM_PART_EMBEDDING) {
		move(&x, "embedding", PIPESIM_MOVE_COPIES, 4 * x.h * x.T, 0, 1);
		/* Its gradient is a whole matrix in BF16, cleared, filled and added. */
		add(&x, (PipesimKernel){.what = "gradient of the embedding",
				.kind = PIPESIM_KERNEL_MOVE,
				.phase = W,
				.bytes = (2 + 2 + 2 * x.gradient) * x.V * x.h / x.t});
		return x.kernels;
	}
	if (part != PIPESIM_PART_HEAD && part != PIPESIM_PART_LOSS) {
		add_attention(&x);
		if (sparse)
			add_experts(&x);
		else
			add_dense(&x);
	}
	if (part == PIPESIM_PART_MTP) {
		add_norm(&x, 2 * x.h * x.Tp);
		add_linear(&x, PIPESIM_WORK_PROJECTION, "both inputs", x.T, 2 * x.h, x.h / x.t);
	}
	if (x.V > 0 && (part == PIPESIM_PART_HEAD || part == PIPESIM_PART_LOSS))
		add_head(&x);
	return x.kernels;
}
