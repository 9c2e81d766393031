/* Checks of the products and of attention, which is made of products. */
#include "attention.h"
#include "check-tools.h"
#include <algorithm>
#include <cmath>

namespace bench
{
namespace
{

/* A stream's worth of cuBLASLt. */
struct Library {
	Gemm gemm;
	Buffer<uint8_t> workspace{int64_t(Gemm::workspace_bytes)};
	GemmLane lane() const
	{
		return {nullptr, workspace, 0};
	}
};

/* All three products of a layer, on a run in the middle of a matrix. */
void check_linear(Checker &checker, Library &library, bool fp8, int out, int in, int rows)
{
	const std::string path = fp8 ? " FP8" : " BF16";
	const std::string note =
		std::to_string(rows) + " x " + std::to_string(out) + " x " + std::to_string(in);
	const double limit = fp8 ? fp8_limit : bf16_limit;
	const Segments segments = make_segments({0, 128, 128 + rows});
	const Run run = {128, rows};
	Linear linear(out, in, out, fp8, checker.next_seed());
	const Values w = to_double(linear.draw());
	const auto x = checker.draw_matrix(128 + rows, in, fp8, segments);
	const auto dy = checker.draw_matrix(128 + rows, out, fp8, segments);
	const Values x_run(x.source.host.begin() + 128 * in, x.source.host.end());
	const Values dy_run(dy.source.host.begin() + 128 * out, dy.source.host.end());

	Buffer<bf16> y(int64_t(128 + rows) * out), dx(int64_t(128 + rows) * in);
	poison(y);
	poison(dx);
	linear.forward(library.gemm, library.lane(), x.matrix.view(), run, y.get());
	linear.input_grad(library.gemm, library.lane(), dy.matrix.view(), run, dx);
	const Values y_all = to_double(y), dx_all = to_double(dx);
	checker.compare("product" + path, Values(y_all.begin() + 128 * out, y_all.end()),
		reference::linear(x_run, w, out, in), limit, note);
	checker.compare("product for the input" + path,
		Values(dx_all.begin() + 128 * in, dx_all.end()),
		reference::linear_input_grad(dy_run, w, out, in), limit, note);

	const OwnedTransposed xt(128 + rows, in, fp8), dyt(128 + rows, out, fp8);
	if (fp8) {
		transpose_requantise(x.matrix.view(), xt.view(), nullptr);
		transpose_requantise(dy.matrix.view(), dyt.view(), nullptr);
	}
	/* Twice, as it accumulates; from what the operands hold before their second rounding.
	 */
	for (int i = 0; i < 2; i++)
		linear.weight_grad(library.gemm, library.lane(), x.matrix.view(), xt.view(),
			dy.matrix.view(), dyt.view(), run);
	Values twice = reference::linear_weight_grad(
		Values(dy.held.begin() + 128 * out, dy.held.end()),
		Values(x.held.begin() + 128 * in, x.held.end()), out, in);
	for (double &value : twice)
		value *= 2;
	checker.compare("product for the weights" + path, to_double(linear.gradient()), twice,
		limit, note);
}

/* Error of the accumulation alone: against the product of the quantised operands. */
void check_promotion(Checker &checker, Library &library)
{
	const int out = 256, in = 4096, rows = 256;
	const std::string note = "K = 4096, rounding of operands left out";
	const auto x = checker.draw_matrix(rows, in, true, one_segment(rows));
	const auto w = checker.draw_matrix(out, in, true, one_segment(out));
	Buffer<float> y(rows * out);
	GemmShape shape = forward_shape(true, rows, out, in);
	shape.scale_a = shape.scale_b = Scale::vec128;
	shape.float_out = true;
	GemmCall call;
	call.a = w.matrix.view().data;
	call.b = x.matrix.view().data;
	call.scale_a = w.matrix.view().scale;
	call.scale_b = x.matrix.view().scale;
	call.d = y;
	poison(y);
	library.gemm.run(library.lane(), shape, call);
	checker.compare("block-scaled FP8, promoted every 128", to_double(y),
		reference::linear(x.held, w.held, out, in), 1e-3, note);

	/* One scale for all: the same bits read as plain E4M3. */
	const Buffer<float> one = upload_float({1.0});
	const auto plain = [](const Checker::Operand &operand) {
		Matrix matrix = operand.matrix.view();
		const OwnedMatrix ones(matrix.rows, matrix.cols, true, matrix.segments);
		matrix.scale = ones.view().scale;
		const Values unit(matrix.elements() / 128, 1.0);
		const Buffer<float> scale = upload_float(unit);
		matrix.scale = scale;
		return to_double(matrix);
	};
	shape.scale_a = shape.scale_b = Scale::tensor;
	shape.float_out = false;
	Buffer<bf16> rough(rows * out);
	call.scale_a = call.scale_b = one;
	call.d = rough;
	poison(rough);
	library.gemm.run(library.lane(), shape, call);
	/* The tensor cores add with about 14 bits: this is what promotion is for. */
	checker.compare("tensor-wise FP8, fast accumulation", to_double(rough),
		reference::linear(plain(x), plain(w), out, in), fp8_limit, note);
}

struct AttentionCase {
	AttentionTask task;
	reference::AttentionSize size;
	Checker::Input q, k, v, d_o;
	Buffer<bf16> o, dq, dk, dv;
	Buffer<float> lse;

	AttentionCase(Checker &checker, const reference::AttentionSize &given) : size(given)
	{
		const int64_t rows = size.tokens;
		q = checker.draw(rows * size.heads * size.qk);
		k = checker.draw(rows * size.kv_heads * size.qk);
		v = checker.draw(rows * size.kv_heads * size.v);
		d_o = checker.draw(rows * size.heads * size.v);
		o = Buffer<bf16>(rows * size.heads * size.v);
		dq = Buffer<bf16>(rows * size.heads * size.qk);
		dk = Buffer<bf16>(rows * size.kv_heads * size.qk);
		dv = Buffer<bf16>(rows * size.kv_heads * size.v);
		lse = Buffer<float>(rows * size.heads);
		for (Buffer<bf16> *out : {&o, &dq, &dk, &dv})
			poison(*out);
		poison(lse);
		const auto view = [](bf16 *data, int heads, int width) {
			return HeadView{data, int64_t(heads) * width, width};
		};
		task = {rows, size.heads, size.kv_heads, size.qk, size.v,
			view(q, size.heads, size.qk), view(k, size.kv_heads, size.qk),
			view(v, size.kv_heads, size.v), view(o, size.heads, size.v),
			view(dq, size.heads, size.qk), view(dk, size.kv_heads, size.qk),
			view(dv, size.kv_heads, size.v), view(d_o, size.heads, size.v), lse};
	}
};

void check_attention_case(Checker &checker, Library &library, const char *kind,
	const reference::AttentionSize &size)
{
	const std::string name = std::string("attention ") + kind;
	const std::string note = std::to_string(size.tokens) + " tokens, " +
				 std::to_string(size.heads) + "/" +
				 std::to_string(size.kv_heads) + " heads of " +
				 std::to_string(size.qk) + "/" + std::to_string(size.v);
	AttentionCase given(checker, size);
	std::string why;
	std::unique_ptr<Attention> attention;
	try {
		attention = make_attention(kind, given.task, library.gemm, why);
	} catch (const Unsupported &reason) {
		checker.skip(name, reason.what());
		return;
	}
	/* Products that add to their result are measured on it first: run twice. */
	for (int i = 0; i < 2; i++) {
		attention->forward(library.lane());
		attention->backward(library.lane());
	}
	checker.compare(name, to_double(given.o),
		reference::attention(size, given.q.host, given.k.host, given.v.host),
		bf16_limit, note);
	const reference::AttentionGrad grad = reference::attention_grad(
		size, given.q.host, given.k.host, given.v.host, given.d_o.host);
	checker.compare(name + ", dq", to_double(given.dq), grad.q, bf16_limit, note);
	checker.compare(name + ", dk", to_double(given.dk), grad.k, bf16_limit, note);
	checker.compare(name + ", dv", to_double(given.dv), grad.v, bf16_limit, note);
}

} // namespace

void check_gemm(Checker &checker)
{
	Library library;
	check_linear(checker, library, false, 384, 640, 200);
	check_linear(checker, library, false, 256, 128, 36);
	if (!checker.has_fp8()) {
		checker.skip("FP8 products", "block scales need compute capability 9.0");
		return;
	}
	check_linear(checker, library, true, 384, 640, 256);
	check_linear(checker, library, true, 256, 2176, 128);
	check_linear(checker, library, true, 1152, 384, 384);
	check_promotion(checker, library);
}

void check_attention(Checker &checker)
{
	Library library;
	for (const char *kind : {"cudnn", "gemm_softmax"}) {
		check_attention_case(checker, library, kind, {256, 3, 3, 192, 128});
		check_attention_case(checker, library, kind, {384, 8, 2, 128, 128});
	}
}

} // namespace bench
