#include "reference.h"
#include "elementwise.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace bench
{
namespace reference
{

static constexpr double epsilon = 1e-6;

/* c[m][n] = a[m][k] b[n][k]^T; four sums at a time, which do not wait for one another. */
static Values multiply(const Values &a, const Values &b, size_t m, size_t n, size_t k)
{
	Values c(m * n);
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < n; j++) {
			const double *x = &a[i * k], *y = &b[j * k];
			double sum[4] = {};
			size_t l = 0;
			for (; l + 4 <= k; l += 4)
				for (int lane = 0; lane < 4; lane++)
					sum[lane] += x[l + lane] * y[l + lane];
			for (; l < k; l++)
				sum[0] += x[l] * y[l];
			c[i * n + j] = sum[0] + sum[1] + sum[2] + sum[3];
		}
	return c;
}

static Values transpose(const Values &a, size_t rows, size_t cols)
{
	Values b(a.size());
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < cols; j++)
			b[j * rows + i] = a[i * cols + j];
	return b;
}

Values linear(const Values &x, const Values &w, int out, int in)
{
	return multiply(x, w, x.size() / in, out, in);
}

Values linear_input_grad(const Values &dy, const Values &w, int out, int in)
{
	return multiply(dy, transpose(w, out, in), dy.size() / out, in, out);
}

Values linear_weight_grad(const Values &dy, const Values &x, int out, int in)
{
	const size_t rows = x.size() / in;
	return multiply(transpose(dy, rows, out), transpose(x, rows, in), out, in, rows);
}

Values add(const Values &a, const Values &b)
{
	Values sum = a;
	for (size_t i = 0; i < sum.size(); i++)
		sum[i] += b[i];
	return sum;
}

double dot(const Values &a, const Values &b)
{
	return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

static double inverse_norm(const double *x, size_t cols)
{
	double squares = 0;
	for (size_t i = 0; i < cols; i++)
		squares += x[i] * x[i];
	return 1 / std::sqrt(squares / cols + epsilon);
}

Values norm(const Values &x, const Values &gamma)
{
	const size_t cols = gamma.size();
	Values y(x.size());
	for (size_t row = 0; row < x.size(); row += cols) {
		const double inverse = inverse_norm(&x[row], cols);
		for (size_t i = 0; i < cols; i++)
			y[row + i] = x[row + i] * inverse * gamma[i];
	}
	return y;
}

Values norm_grad(const Values &x, const Values &gamma, const Values &dy, Values &gamma_grad)
{
	const size_t cols = gamma.size();
	Values dx(x.size());
	for (size_t row = 0; row < x.size(); row += cols) {
		const double inverse = inverse_norm(&x[row], cols);
		double mean = 0;
		for (size_t i = 0; i < cols; i++)
			mean += x[row + i] * inverse * dy[row + i] * gamma[i] / cols;
		for (size_t i = 0; i < cols; i++) {
			const double normal = x[row + i] * inverse;
			gamma_grad[i] += dy[row + i] * normal;
			dx[row + i] = inverse * (dy[row + i] * gamma[i] - normal * mean);
		}
	}
	return dx;
}

Values rope(const Values &x, int row_width, int cols, int head, int width, double base,
	bool inverse)
{
	Values y = x;
	const int rows = int(x.size() / row_width);
	for (int row = 0; row < rows; row++)
		for (int begin = head - width; begin < cols; begin += head)
			for (int i = 0; i < width; i += 2) {
				double angle = row * std::pow(base, -double(i) / width);
				if (inverse)
					angle = -angle;
				double *pair = &y[size_t(row) * row_width + begin + i];
				const double a = pair[0], b = pair[1];
				pair[0] = a * std::cos(angle) - b * std::sin(angle);
				pair[1] = a * std::sin(angle) + b * std::cos(angle);
			}
	return y;
}

/* Probabilities of one query row over the keys up to it. */
static Values softmax_row(
	const AttentionSize &size, const Values &q, const Values &k, int token, int head)
{
	const int kv_head = head / (size.heads / size.kv_heads);
	const double *query = &q[(size_t(token) * size.heads + head) * size.qk];
	Values p(token + 1);
	double largest = -INFINITY, sum = 0;
	for (int other = 0; other <= token; other++) {
		const double *key = &k[(size_t(other) * size.kv_heads + kv_head) * size.qk];
		p[other] = std::inner_product(query, query + size.qk, key, 0.0) /
			   std::sqrt(double(size.qk));
		largest = std::max(largest, p[other]);
	}
	for (double &value : p)
		sum += value = std::exp(value - largest);
	for (double &value : p)
		value /= sum;
	return p;
}

Values attention(const AttentionSize &size, const Values &q, const Values &k, const Values &v)
{
	Values o(size_t(size.tokens) * size.heads * size.v);
	for (int token = 0; token < size.tokens; token++)
		for (int head = 0; head < size.heads; head++) {
			const int kv_head = head / (size.heads / size.kv_heads);
			const Values p = softmax_row(size, q, k, token, head);
			double *out = &o[(size_t(token) * size.heads + head) * size.v];
			for (int other = 0; other <= token; other++) {
				const double *value =
					&v[(size_t(other) * size.kv_heads + kv_head) * size.v];
				for (int i = 0; i < size.v; i++)
					out[i] += p[other] * value[i];
			}
		}
	return o;
}

AttentionGrad attention_grad(const AttentionSize &size, const Values &q, const Values &k,
	const Values &v, const Values &d_o)
{
	AttentionGrad grad = {Values(q.size()), Values(k.size()), Values(v.size())};
	const double scale = 1 / std::sqrt(double(size.qk));
	for (int token = 0; token < size.tokens; token++)
		for (int head = 0; head < size.heads; head++) {
			const int kv_head = head / (size.heads / size.kv_heads);
			const Values p = softmax_row(size, q, k, token, head);
			const size_t row = size_t(token) * size.heads + head;
			const double *d_out = &d_o[row * size.v];
			Values dp(token + 1);
			double delta = 0;
			for (int other = 0; other <= token; other++) {
				const size_t at = size_t(other) * size.kv_heads + kv_head;
				for (int i = 0; i < size.v; i++) {
					dp[other] += d_out[i] * v[at * size.v + i];
					grad.v[at * size.v + i] += p[other] * d_out[i];
				}
				delta += p[other] * dp[other];
			}
			for (int other = 0; other <= token; other++) {
				const size_t at = size_t(other) * size.kv_heads + kv_head;
				const double ds = p[other] * (dp[other] - delta) * scale;
				for (int i = 0; i < size.qk; i++) {
					grad.q[row * size.qk + i] += ds * k[at * size.qk + i];
					grad.k[at * size.qk + i] += ds * q[row * size.qk + i];
				}
			}
		}
	return grad;
}

static double sigmoid(double x)
{
	return 1 / (1 + std::exp(-x));
}

Values swiglu(const Values &gate_up, const Values &weight, int inter)
{
	const size_t rows = gate_up.size() / (2 * inter);
	Values act(rows * inter);
	for (size_t row = 0; row < rows; row++)
		for (int i = 0; i < inter; i++) {
			const double gate = gate_up[row * 2 * inter + i];
			const double up = gate_up[row * 2 * inter + inter + i];
			act[row * inter + i] =
				(weight.empty() ? 1 : weight[row]) * gate * sigmoid(gate) * up;
		}
	return act;
}

Values swiglu_grad(const Values &gate_up, const Values &weight, const Values &dact, int inter,
	Values &weight_grad)
{
	const size_t rows = gate_up.size() / (2 * inter);
	Values grad(gate_up.size());
	weight_grad.assign(rows, 0);
	for (size_t row = 0; row < rows; row++)
		for (int i = 0; i < inter; i++) {
			const size_t at = row * 2 * inter + i;
			const double gate = gate_up[at], up = gate_up[at + inter];
			const double s = sigmoid(gate), d = dact[row * inter + i];
			const double w = weight.empty() ? 1 : weight[row];
			weight_grad[row] += d * gate * s * up;
			grad[at] = w * d * up * s * (1 + gate * (1 - s));
			grad[at + inter] = w * d * gate * s;
		}
	return grad;
}

} // namespace reference
} // namespace bench
