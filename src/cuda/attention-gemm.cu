#include "attention.h"
#include "vector.cuh"
#include <algorithm>
#include <cmath>

namespace bench
{
namespace
{

constexpr int block = 256;
/* Score matrices held at a time: FP32 scores and their gradients, BF16 copies of both. */
constexpr int64_t score_bytes = 12;
constexpr int64_t memory_limit = int64_t(2) << 30;

__device__ float block_max(float value, float *scratch)
{
	for (int distance = 16; distance > 0; distance /= 2)
		value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, distance));
	if (threadIdx.x % 32 == 0)
		scratch[threadIdx.x / 32] = value;
	__syncthreads();
	for (int warp = 0; warp < block / 32; warp++)
		value = fmaxf(value, scratch[warp]);
	return value;
}

/* Heads first, first + step, ... of the launch's second dimension. */
struct Heads {
	int first, step;
	int64_t tokens;
	float scale;
};

/* A block a row of scores: probabilities in BF16, zero beyond the diagonal, and the logarithm
 * of the row's sum. */
__global__ void softmax_kernel(const float *scores, __nv_bfloat16 *p, float *lse, Heads heads)
{
	__shared__ float scratch[block / 32];
	__shared__ float sums[block / 32];
	const int64_t token = blockIdx.x;
	const int64_t row = (blockIdx.y * heads.tokens + token) * heads.tokens;
	float largest = -INFINITY;
	for (int64_t i = threadIdx.x; i <= token; i += block)
		largest = fmaxf(largest, scores[row + i]);
	largest = block_max(largest, scratch) * heads.scale;
	float sum = 0;
	for (int64_t i = threadIdx.x; i <= token; i += block)
		sum += __expf(scores[row + i] * heads.scale - largest);
	sum = warps_sum(sum, sums, 0, block / 32);
	const float inverse = 1.0f / sum;
	for (int64_t i = threadIdx.x; i < heads.tokens; i += block)
		p[row + i] = __float2bfloat16(
			i <= token ? __expf(scores[row + i] * heads.scale - largest) * inverse
				   : 0.0f);
	if (threadIdx.x == 0) {
		const int64_t head = heads.first + int64_t(blockIdx.y) * heads.step;
		lse[head * heads.tokens + token] = largest + __logf(sum);
	}
}

struct SoftmaxGrad {
	const float *scores, *dp;
	const float *lse, *delta; /* [heads][tokens] */
	__nv_bfloat16 *p, *ds;
};

__global__ void softmax_grad_kernel(SoftmaxGrad call, Heads heads)
{
	const int64_t token = blockIdx.x;
	const int64_t row = (blockIdx.y * heads.tokens + token) * heads.tokens;
	const int64_t head = heads.first + int64_t(blockIdx.y) * heads.step;
	const float lse = call.lse[head * heads.tokens + token];
	const float delta = call.delta[head * heads.tokens + token];
	for (int64_t i = threadIdx.x; i < heads.tokens; i += block) {
		const float p =
			i <= token ? __expf(call.scores[row + i] * heads.scale - lse) : 0.0f;
		call.p[row + i] = __float2bfloat16(p);
		call.ds[row + i] = __float2bfloat16(
			i <= token ? p * (call.dp[row + i] - delta) * heads.scale : 0.0f);
	}
}

/* delta[head][token] = sum of o * d_o over the head: a warp each. */
__global__ void delta_kernel(AttentionTask task, float *delta)
{
	const int64_t warp = (int64_t(blockIdx.x) * block + threadIdx.x) / 32;
	const int64_t token = warp / task.heads, head = warp % task.heads;
	if (token >= task.tokens)
		return;
	const __nv_bfloat16 *o = task.o.data + token * task.o.row + head * task.o.head;
	const __nv_bfloat16 *d_o = task.d_o.data + token * task.d_o.row + head * task.d_o.head;
	float sum = 0;
	for (int i = threadIdx.x % 32; i < task.v_width; i += 32)
		sum += __bfloat162float(o[i]) * __bfloat162float(d_o[i]);
	sum = warp_sum(sum);
	if (threadIdx.x % 32 == 0)
		delta[head * task.tokens + token] = sum;
}

class GemmAttention : public Attention
{
      public:
	GemmAttention(const AttentionTask &given, Gemm &library)
	    : task(given), gemm(library), group(given.heads / given.kv_heads),
	      batch(std::max<int64_t>(
		      1, std::min<int64_t>(given.kv_heads,
				 memory_limit / (score_bytes * given.tokens * given.tokens)))),
	      scores(batch * given.tokens * given.tokens), dp(scores.size()), p(scores.size()),
	      ds(scores.size()), delta(given.heads * given.tokens)
	{
	}
	void forward(const GemmLane &lane) override;
	void backward(const GemmLane &lane) override;
	const char *impl() const override
	{
		return "gemm_softmax";
	}

      private:
	/* Some heads that share no key-value head, as one batch. */
	struct Batch {
		int64_t member; /* of its group */
		int64_t kv;     /* first key-value head */
		int64_t count;
		int64_t head(int64_t group) const
		{
			return kv * group + member;
		}
	};
	template <class Step> void each_batch(Step step);
	Heads heads_of(const Batch &part) const
	{
		return {int(part.head(group)), int(group), task.tokens,
			1.0f / std::sqrt(float(task.qk))};
	}
	void multiply_rows(const GemmLane &lane, const Batch &part, const HeadView &x,
		const HeadView &y, int width, float *out);
	void apply(const GemmLane &lane, const Batch &part, const __nv_bfloat16 *weights,
		const HeadView &y, const HeadView &out, int width);
	void apply_transposed(const GemmLane &lane, const Batch &part,
		const __nv_bfloat16 *weights, const HeadView &x, const HeadView &out,
		int width);

	AttentionTask task;
	Gemm &gemm;
	int64_t group, batch;
	Buffer<float> scores, dp;
	Buffer<__nv_bfloat16> p, ds;
	Buffer<float> delta;
};

template <class Step> void GemmAttention::each_batch(Step step)
{
	for (int64_t member = 0; member < group; member++)
		for (int64_t kv = 0; kv < task.kv_heads; kv += batch)
			step(Batch{member, kv, std::min<int64_t>(batch, task.kv_heads - kv)});
}

/* out[token][other] = x of a query head times y of its key-value head. */
void GemmAttention::multiply_rows(const GemmLane &lane, const Batch &part, const HeadView &x,
	const HeadView &y, int width, float *out)
{
	GemmShape shape;
	shape.m = shape.n = shape.ldd = task.tokens;
	shape.k = width;
	shape.transpose_a = true;
	shape.lda = y.row;
	shape.ldb = x.row;
	shape.batch = part.count;
	shape.stride_a = y.head;
	shape.stride_b = group * x.head;
	shape.stride_d = task.tokens * task.tokens;
	shape.float_out = true;
	GemmCall call;
	call.a = y.data + part.kv * y.head;
	call.b = x.data + part.head(group) * x.head;
	call.d = out;
	gemm.run(lane, shape, call);
}

/* out of query heads = weights times y of key-value heads. */
void GemmAttention::apply(const GemmLane &lane, const Batch &part, const __nv_bfloat16 *weights,
	const HeadView &y, const HeadView &out, int width)
{
	GemmShape shape;
	shape.m = width;
	shape.n = shape.k = shape.ldb = task.tokens;
	shape.lda = y.row;
	shape.ldd = out.row;
	shape.batch = part.count;
	shape.stride_a = y.head;
	shape.stride_b = task.tokens * task.tokens;
	shape.stride_d = group * out.head;
	GemmCall call;
	call.a = y.data + part.kv * y.head;
	call.b = weights;
	call.d = out.data + part.head(group) * out.head;
	gemm.run(lane, shape, call);
}

/* out of key-value heads = weights transposed times x of query heads, summed over the group. */
void GemmAttention::apply_transposed(const GemmLane &lane, const Batch &part,
	const __nv_bfloat16 *weights, const HeadView &x, const HeadView &out, int width)
{
	GemmShape shape;
	shape.m = width;
	shape.n = shape.k = shape.ldb = task.tokens;
	shape.transpose_b = true;
	shape.lda = x.row;
	shape.ldd = out.row;
	shape.batch = part.count;
	shape.stride_a = group * x.head;
	shape.stride_b = task.tokens * task.tokens;
	shape.stride_d = out.head;
	shape.accumulate = part.member > 0;
	GemmCall call;
	call.a = x.data + part.head(group) * x.head;
	call.b = weights;
	call.d = out.data + part.kv * out.head;
	gemm.run(lane, shape, call);
}

void GemmAttention::forward(const GemmLane &lane)
{
	each_batch([&](const Batch &part) {
		const dim3 grid(unsigned(task.tokens), unsigned(part.count));
		multiply_rows(lane, part, task.q, task.k, task.qk, scores);
		softmax_kernel<<<grid, block, 0, lane.stream>>>(
			scores, p, task.lse, heads_of(part));
		LAUNCH_CHECK();
		apply(lane, part, p, task.v, task.o, task.v_width);
	});
}

void GemmAttention::backward(const GemmLane &lane)
{
	const int64_t warps = task.tokens * task.heads;
	delta_kernel<<<unsigned((warps * 32 + block - 1) / block), block, 0, lane.stream>>>(
		task, delta);
	LAUNCH_CHECK();
	each_batch([&](const Batch &part) {
		const dim3 grid(unsigned(task.tokens), unsigned(part.count));
		multiply_rows(lane, part, task.q, task.k, task.qk, scores);
		multiply_rows(lane, part, task.d_o, task.v, task.v_width, dp);
		const SoftmaxGrad call = {scores, dp, task.lse, delta, p, ds};
		softmax_grad_kernel<<<grid, block, 0, lane.stream>>>(call, heads_of(part));
		LAUNCH_CHECK();
		apply_transposed(lane, part, p, task.d_o, task.dv, task.v_width);
		apply(lane, part, ds, task.k, task.dq, task.qk);
		apply_transposed(lane, part, ds, task.q, task.dk, task.qk);
	});
}

} // namespace

std::unique_ptr<Attention> make_gemm_attention(const AttentionTask &task, Gemm &gemm)
{
	return std::make_unique<GemmAttention>(task, gemm);
}

} // namespace bench
