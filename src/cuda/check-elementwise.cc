#include "check-tools.h"
#include <algorithm>

namespace bench
{

/* Runs of uneven length, one of them empty. */
static Segments uneven_segments()
{
	return make_segments({0, 128, 128, 512, 640});
}

static std::string path(bool fp8)
{
	return fp8 ? " FP8" : " BF16";
}

static double limit_of(bool fp8)
{
	return fp8 ? fp8_limit : rounding_limit;
}

static void check_norm(Checker &checker, bool fp8, int rows, int cols)
{
	const auto a = checker.draw(rows * cols), b = checker.draw(rows * cols);
	const auto c = checker.draw(rows * cols), gamma = checker.draw(cols, 1, 0.2f);
	const std::string note = std::to_string(rows) + " x " + std::to_string(cols);
	const OwnedMatrix y(rows, cols, fp8, one_segment(rows), true);
	Buffer<bf16> sum(rows * cols), copy(rows * cols);
	poison_matrix(y.view());
	poison(sum);
	poison(copy);
	NormForward call = {};
	call.a = a;
	call.b = b;
	call.c = c;
	call.gamma = gamma;
	call.sum = sum;
	call.y = y.view();
	call.copy = copy;
	norm_forward(call, nullptr);
	const Values x = reference::add(reference::add(a.host, b.host), c.host);
	const Values expected = reference::norm(x, gamma.host);
	checker.compare("norm sum" + path(fp8), to_double(sum), x, rounding_limit, note);
	checker.compare("norm" + path(fp8), to_double(y.view()), expected, limit_of(fp8), note);
	checker.compare(
		"norm copy" + path(fp8), to_double(copy), expected, rounding_limit, note);
}

static void check_norm_grad(Checker &checker, bool fp8, int rows, int cols)
{
	const auto x = checker.draw(rows * cols), gamma = checker.draw(cols, 1, 0.2f);
	const Checker::Input dy[] = {checker.draw(rows * cols), checker.draw(rows * cols),
		checker.draw(rows * cols)};
	const auto residual = checker.draw(rows * cols);
	const std::string note = std::to_string(rows) + " x " + std::to_string(cols);
	const OwnedMatrix copy(rows, cols, fp8, one_segment(rows));
	Buffer<bf16> dx(rows * cols);
	Buffer<float> partial(int64_t(norm_blocks) * cols), gamma_grad(cols);
	poison(dx);
	poison(partial);
	NormBackward call = {};
	call.x = x;
	call.gamma = gamma;
	for (int i = 0; i < 3; i++)
		call.dy[i] = dy[i];
	call.residual = residual;
	call.dx = dx;
	if (fp8)
		call.copy = copy.view();
	call.partial = partial;
	call.gamma_grad = gamma_grad;
	call.rows = rows;
	call.cols = cols;
	norm_backward(call, nullptr);
	Values expected_gamma(cols);
	const Values total = reference::add(reference::add(dy[0].host, dy[1].host), dy[2].host);
	const Values expected = reference::add(
		residual.host, reference::norm_grad(x.host, gamma.host, total, expected_gamma));
	checker.compare(
		"norm gradient" + path(fp8), to_double(dx), expected, rounding_limit, note);
	checker.compare("norm gradient, gamma" + path(fp8), to_double(gamma_grad),
		expected_gamma, 1e-5, note);
	if (fp8)
		checker.compare("norm gradient, cast", to_double(copy.view()), expected,
			fp8_limit, note);
}

/* A cache has its scales by rows alone. */
static Values cache_to_double(const Matrix &cache)
{
	Matrix gathered = cache;
	Buffer<float> scale(cache.elements() / 128);
	gathered.scale = scale;
	gather_scales(gathered, nullptr);
	return to_double(gathered);
}

static void check_swiglu(Checker &checker, bool fp8, int inter)
{
	const Segments segments = uneven_segments();
	const int rows = segments.begin[segments.count];
	const std::string note = std::to_string(rows) + " x " + std::to_string(inter);
	const auto gate_up = checker.draw(int64_t(rows) * 2 * inter);
	const auto dact = checker.draw(int64_t(rows) * inter);
	const Values weight = checker.draw(rows, 0.5f, 0.1f).host;
	const Buffer<float> weights = upload_float(weight);
	const OwnedMatrix act(rows, inter, fp8, segments),
		dgate_up(rows, 2 * inter, fp8, segments);
	const OwnedMatrix cache(fp8 ? rows : 0, 2 * inter, fp8, segments, true);
	Buffer<float> weight_grad(rows);
	poison_matrix(act.view());
	poison_matrix(cache.view());
	swiglu_forward(gate_up, weights, act.view(), cache.view(), nullptr);
	const Values expected = reference::swiglu(gate_up.host, weight, inter);
	checker.compare(
		"swiglu" + path(fp8), to_double(act.view()), expected, limit_of(fp8), note);

	poison_matrix(act.view());
	poison_matrix(dgate_up.view());
	poison(weight_grad);
	SwigluBackward call = {};
	call.dact = dact;
	call.cache = cache.view();
	if (!fp8) {
		call.cache = Matrix();
		call.cache.data = gate_up.device;
		call.cache.rows = rows;
		call.cache.cols = 2 * inter;
	}
	call.weight = weights;
	call.dgate_up = dgate_up.view();
	call.act = act.view();
	call.weight_grad = weight_grad;
	swiglu_backward(call, nullptr);
	/* From what the cache holds, so that only the result's own rounding is judged. */
	const Values held = fp8 ? cache_to_double(cache.view()) : gate_up.host;
	const double limit = limit_of(fp8);
	Values expected_weight;
	const Values expected_grad =
		reference::swiglu_grad(held, weight, dact.host, inter, expected_weight);
	if (fp8)
		checker.compare("swiglu cache", held, gate_up.host, fp8_limit, note);
	checker.compare("swiglu gradient" + path(fp8), to_double(dgate_up.view()),
		expected_grad, limit, note);
	checker.compare("swiglu again" + path(fp8), to_double(act.view()),
		reference::swiglu(held, weight, inter), limit, note);
	checker.compare("swiglu gradient, weight" + path(fp8), to_double(weight_grad),
		expected_weight, 1e-4, note);
}

static void check_transpose(Checker &checker, int cols)
{
	const Segments segments = uneven_segments();
	const int rows = segments.begin[segments.count];
	const std::string note = std::to_string(rows) + " x " + std::to_string(cols);
	const auto operand = checker.draw_matrix(rows, cols, true, segments);
	checker.compare("cast", operand.held, operand.source.host, fp8_limit, note);

	const OwnedTransposed turned(rows, cols, true);
	poison(turned.view().data, size_t(rows) * cols);
	poison(turned.view().scale, size_t(rows) / 128 * cols * sizeof(float));
	transpose_requantise(operand.matrix.view(), turned.view(), nullptr);
	checker.compare("requantising transpose",
		to_double(turned.view(), operand.matrix.view()), operand.held, fp8_limit, note);

	/* Scales arrive by rows; gathered they must be those of the cast, to the bit. */
	const Matrix &matrix = operand.matrix.view();
	poison(matrix.scale, matrix.elements() / 128 * sizeof(float));
	gather_scales(matrix, nullptr);
	checker.compare("gathered scales", to_double(matrix), operand.held, 0, note);
}

static void check_weight(Checker &checker, int out, int in)
{
	const auto weight = checker.draw(int64_t(out) * in);
	const int64_t in4 = (in / 128 + 3) / 4 * 4, out4 = (out / 128 + 3) / 4 * 4;
	Buffer<uint8_t> w(out * in), turned(out * in);
	Buffer<float> w_scale(out / 128 * in4), turned_scale(in / 128 * out4);
	poison(w);
	poison(turned);
	quantise_weight(weight, out, in, w, w_scale, turned, turned_scale, nullptr);
	const auto bits = w.download(), turned_bits = turned.download();
	const auto scale = w_scale.download(), other_scale = turned_scale.download();
	Values held(weight.host.size()), other(weight.host.size());
	for (int row = 0; row < out; row++)
		for (int col = 0; col < in; col++) {
			held[row * in + col] = from_e4m3(bits[row * in + col]) *
					       scale[row / 128 * in4 + col / 128];
			other[row * in + col] = from_e4m3(turned_bits[col * out + row]) *
						other_scale[col / 128 * out4 + row / 128];
		}
	const std::string note = std::to_string(out) + " x " + std::to_string(in);
	checker.compare("weight cast", held, weight.host, fp8_limit, note);
	checker.compare("weight cast, transposed", other, held, 0, note);
}

static void check_router(Checker &checker, const Model &model, int tokens)
{
	const Values logits = checker.draw(int64_t(tokens) * model.experts).host;
	const Values bias = checker.draw(model.experts, 0, 0.05f).host;
	const Buffer<float> device_logits = upload_float(logits),
			    device_bias = upload_float(bias);
	Buffer<int> index(tokens * model.top_k);
	Buffer<float> weight(tokens * model.top_k);
	poison(index);
	poison(weight);
	route(model, device_logits, device_bias, tokens, index, weight, nullptr);
	const std::vector<int> chosen = index.download();
	const std::vector<int> expected = reference::route(model, logits, bias);
	int different = 0;
	for (size_t i = 0; i < chosen.size(); i++)
		different += chosen[i] != expected[i];
	const std::string note = std::to_string(tokens) + " x " + std::to_string(model.experts);
	/* Two scores closer than FP32 resolves may change places. */
	checker.require("router's choice", double(different) / chosen.size(), 2e-3, note);
	checker.compare("router's weights", to_double(weight),
		reference::route_weight(model, logits, chosen), 1e-5, note);

	const Values weight_grad = checker.draw(tokens * model.top_k).host;
	const Buffer<float> device_grad = upload_float(weight_grad);
	Buffer<bf16> dlogits(int64_t(tokens) * model.experts);
	poison(dlogits);
	route_backward(model, device_logits, index, device_grad, tokens, dlogits, nullptr);
	checker.compare("router's gradient", to_double(dlogits),
		reference::route_grad(model, logits, chosen, weight_grad), rounding_limit,
		note);
}

void check_elementwise(Checker &checker)
{
	for (const bool fp8 : {false, true}) {
		check_norm(checker, fp8, 37, 384);
		check_norm(checker, fp8, 5, 7168);
		check_norm_grad(checker, fp8, 300, 640);
		check_norm_grad(checker, fp8, 7, 7168);
		check_swiglu(checker, fp8, 384);
	}
	check_swiglu(checker, true, 2048 + 128);
	check_transpose(checker, 128);
	check_transpose(checker, 640);
	check_weight(checker, 256, 640);
	Model model = read_model("deepseek-v3");
	check_router(checker, model, 77);
	model.experts = 64;
	model.groups = 4;
	model.top_groups = 2;
	model.top_k = 6;
	check_router(checker, model, 50);
}

} // namespace bench
