#include "measure/kernels.h"
#include "measure/beside.h"

/* Kernels that tell the clock: shorter ones take what launches and caches make of them; so many of a file. */
#define PACE_NS    50000
#define MOST_PACES 2048

/* What takes so much longer than the next shorter one of its name is of another size: clocks move less. */
#define OTHER_SIZE 1.25

/* Large and odd: spreads hashes. */
#define SPREAD G_GUINT64_CONSTANT(0x9e3779b97f4a7c15)

static gint compare_names(const PipesimRan *x, const PipesimRan *y)
{
	return x->name != y->name ? strcmp(x->name, y->name) : 0;
}

PIPESIM_COMPARE(compare_in_ops, PipesimRan,
	pipesim_by(op) ?: compare_names(x, y) ?: pipesim_by(start))

PIPESIM_COMPARE(compare_roles, PipesimRan, pipesim_by(role) ?: pipesim_by(took))

PIPESIM_COMPARE(compare_sizes, PipesimRan,
	compare_names(x, y) ?: pipesim_by(phase) ?: pipesim_by(usual))

static guint64 mix(guint64 x)
{
	x = (x ^ (x >> 32)) * SPREAD;
	return x ^ (x >> 29);
}

/* What each kernel of one op, which are @n by name and start from @first on, is in it: whatever order its streams ran
 * them in. */
static void find_roles(PipesimRan *first, guint n)
{
	guint64 op = first->phase, name = 0;
	guint again = 0;

	for (guint i = 0; i < n; i++) {
		const gboolean same = i > 0 && compare_names(&first[i], &first[i - 1]) == 0;

		first[i].role = same ? first[i - 1].role : mix(g_str_hash(first[i].name));
		op += first[i].role;
	}
	for (guint i = 0; i < n; i++) {
		again = i > 0 && first[i].role == name ? again + 1 : 0;
		name = first[i].role;
		first[i].role = mix(mix(op) + name + again);
	}
}

/* Finds the role of each of @ran, of all that ran in its op. */
static void find_all_roles(GArray *ran)
{
	PipesimRan *one = (PipesimRan *)(gpointer)ran->data;
	guint end;

	g_array_sort(ran, compare_in_ops);
	for (guint begin = 0; begin < ran->len; begin = end) {
		for (end = begin; end < ran->len && one[end].op == one[begin].op;)
			end++;
		find_roles(&one[begin], end - begin);
	}
}

/* Tells which of @ran have a message of @trace beside them, and keeps the longer ones of the others. */
static void find_beside(PipesimTrace *trace, GArray *ran)
{
	g_autoptr(GArray) messages = pipesim_beside_messages(trace);

	pipesim_each (PipesimRan, one, ran) {
		const PipesimTracePace pace = {one->name, one->start, one->took};

		one->beside =
			pipesim_beside_covered(messages, one->start, one->start + one->took) *
				20 >
			one->took;
		if (!one->beside && one->took >= PACE_NS && trace->paces->len < MOST_PACES)
			g_array_append_val(trace->paces, pace);
	}
}

/* Of @ran leaves those alone, each with what it usually takes. */
static void find_usual(GArray *ran)
{
	PipesimRan *one = (PipesimRan *)(gpointer)ran->data;
	guint n = 0;

	for (guint i = 0; i < ran->len; i++)
		if (!one[i].beside)
			one[n++] = one[i];
	g_array_set_size(ran, n);
	g_array_sort(ran, compare_roles);
	for (guint i = 0; i < n; i++)
		one[i].usual = i > 0 && one[i].role == one[i - 1].role ? one[i - 1].usual
								       : one[i].took;
}

/* The mean of the middle half of @values: one step among others in which the chip is not its own is no usual one. */
static double middle_of(GArray *values)
{
	const guint least = values->len / 4, n = values->len - 2 * least;

	g_array_sort(values, pipesim_compare_double);
	return pipesim_sum(i, n, g_array_index(values, double, least + i)) / MAX(n, 1u);
}

/* What the kernels of one op took together, and usually take, ns. */
typedef struct {
	double took, usual;
	guint8 phase;
} Together;

static double stretch_of(const Together *op)
{
	return op->took / MAX(op->usual, 1);
}

/* Leaves out of @ran the ops whose kernels take so much more together than those of other ops of their phase that it is no
 * clock. */
static void leave_usual(GArray *ran)
{
	g_autoptr(GArray) ops = g_array_new(FALSE, TRUE, sizeof(Together));
	double middle[PIPESIM_N_PHASES];
	guint n = 0;

	pipesim_each (const PipesimRan, one, ran) {
		Together *op;

		if (one->op >= ops->len)
			g_array_set_size(ops, one->op + 1);
		op = &g_array_index(ops, Together, one->op);
		op->took += (double)one->took;
		op->usual += (double)one->usual;
		op->phase = one->phase;
	}
	for (guint phase = 0; phase < PIPESIM_N_PHASES; phase++) {
		g_autoptr(GArray) stretches = g_array_new(FALSE, FALSE, sizeof(double));

		pipesim_each (const Together, op, ops) {
			const double stretch = stretch_of(op);

			if (op->phase == phase && op->took > 0)
				g_array_append_val(stretches, stretch);
		}
		middle[phase] = middle_of(stretches);
	}
	pipesim_each (const PipesimRan, one, ran)
		if (stretch_of(&g_array_index(ops, Together, one->op)) <=
			OTHER_SIZE * middle[one->phase])
			g_array_index(ran, PipesimRan, n++) = *one;
	g_array_set_size(ran, n);
}

/* Adds @kernel to @kernels, whose last ones may be other sizes of it: by what all of a size took, the most first. */
static void add_size(GArray *kernels, PipesimTraceKernel *kernel)
{
	guint at = kernels->len;

	for (; at > 0; at--) {
		PipesimTraceKernel *other = &g_array_index(kernels, PipesimTraceKernel, at - 1);

		if (other->phase != kernel->phase || strcmp(other->name, kernel->name) != 0)
			break;
		if (other->n * other->usual < kernel->n * kernel->usual)
			other->size++;
		else
			kernel->size++;
	}
	g_array_append_vals(kernels, kernel, 1);
}

void pipesim_trace_add_kernels(PipesimTrace *trace, GArray *ran)
{
	guint end;

	find_beside(trace, ran);
	find_all_roles(ran);
	find_usual(ran);
	leave_usual(ran);
	g_array_sort(ran, compare_sizes);
	for (guint begin = 0; begin < ran->len; begin = end) {
		const PipesimRan *first = &g_array_index(ran, PipesimRan, begin);
		PipesimTraceKernel kernel = {first->name, first->phase, 0, 0, 0, 0};
		const PipesimRan *before = first;
		double took = 0, usual = 0;

		for (end = begin; end < ran->len;
			before = &g_array_index(ran, PipesimRan, end++)) {
			const PipesimRan *other = &g_array_index(ran, PipesimRan, end);

			if (other->phase != first->phase || compare_names(other, first) != 0 ||
				(double)other->usual > OTHER_SIZE * (double)before->usual)
				break;
			took += (double)other->took;
			usual += (double)other->usual;
		}
		kernel.n = end - begin;
		kernel.mean = llround(took / kernel.n);
		kernel.usual = llround(usual / kernel.n);
		add_size(trace->kernels, &kernel);
	}
}
