/* The router behind its GEMM: a warp a token, lane l holding experts [l E / 32, (l + 1) E /
 * 32). */
#include "elementwise.h"
#include "vector.cuh"
#include <cfloat>

namespace bench
{
namespace
{

constexpr int block = 256;
constexpr int most_a_lane = 16;

struct Route {
	const float *logits, *bias;
	int64_t tokens;
	int a_lane; /* experts a lane */
	int top_k, groups, top_groups;
	int *index;
	float *weight;
};

/* Two best of a lane merged with those of the lanes of its group. */
__device__ float group_score(const float biased[most_a_lane], int a_lane, int lanes)
{
	float first = -FLT_MAX, second = -FLT_MAX;
#pragma unroll
	for (int i = 0; i < most_a_lane; i++) {
		if (i >= a_lane)
			break;
		second = fmaxf(second, fminf(first, biased[i]));
		first = fmaxf(first, biased[i]);
	}
	for (int distance = lanes / 2; distance > 0; distance /= 2) {
		const float other = __shfl_xor_sync(0xffffffffu, first, distance);
		const float next = __shfl_xor_sync(0xffffffffu, second, distance);
		second = fmaxf(fminf(first, other), fmaxf(second, next));
		first = fmaxf(first, other);
	}
	return a_lane * lanes > 1 ? first + second : first;
}

/* Whether this lane's group is among the best; ties go to the lower group. */
__device__ bool group_chosen(float score, int lane, int lanes, const Route &call)
{
	const int own = lane / lanes;
	int better = 0;
	for (int group = 0; group < call.groups; group++) {
		const float other = __shfl_sync(0xffffffffu, score, group * lanes);
		better += other > score || (other == score && group < own);
	}
	return better < call.top_groups;
}

__global__ void __launch_bounds__(block) route_kernel(Route call)
{
	const int64_t token = (int64_t(blockIdx.x) * block + threadIdx.x) / 32;
	const int lane = threadIdx.x % 32;
	if (token >= call.tokens)
		return;
	const int first = lane * call.a_lane;
	const float *logits = call.logits + token * 32 * call.a_lane + first;
	float biased[most_a_lane];
#pragma unroll
	for (int i = 0; i < most_a_lane; i++)
		biased[i] =
			i < call.a_lane ? sigmoid(logits[i]) + call.bias[first + i] : -FLT_MAX;
	const int lanes = 32 / call.groups;
	const float score = group_score(biased, call.a_lane, lanes);
	if (!group_chosen(score, lane, lanes, call))
#pragma unroll
		for (int i = 0; i < most_a_lane; i++)
			biased[i] = -FLT_MAX;
	float sum = 0, own_score = 0;
	int own_index = 0;
	for (int rank = 0; rank < call.top_k; rank++) {
		float best = -FLT_MAX;
		int where = 0;
#pragma unroll
		for (int i = 0; i < most_a_lane; i++)
			if (biased[i] > best) {
				best = biased[i];
				where = first + i;
			}
		if (best == -FLT_MAX)
			where = INT_MAX;
		for (int distance = 16; distance > 0; distance /= 2) {
			const float other = __shfl_xor_sync(0xffffffffu, best, distance);
			const int there = __shfl_xor_sync(0xffffffffu, where, distance);
			if (other > best || (other == best && there < where)) {
				best = other;
				where = there;
			}
		}
#pragma unroll
		for (int i = 0; i < most_a_lane; i++)
			if (first + i == where)
				biased[i] = -FLT_MAX;
		const float plain = sigmoid(call.logits[token * 32 * call.a_lane + where]);
		sum += plain;
		if (lane == rank) {
			own_index = where;
			own_score = plain;
		}
	}
	if (lane < call.top_k) {
		call.index[token * call.top_k + lane] = own_index;
		call.weight[token * call.top_k + lane] = router_scale * own_score / sum;
	}
}

struct RouteBackward {
	const float *logits;
	const int *index;
	const float *weight_grad;
	int64_t tokens;
	int experts, top_k;
	bf16 *dlogits;
};

__global__ void __launch_bounds__(block) route_backward_kernel(RouteBackward call)
{
	const int64_t token = (int64_t(blockIdx.x) * block + threadIdx.x) / 32;
	const int lane = threadIdx.x % 32;
	if (token >= call.tokens)
		return;
	bf16 *row = call.dlogits + token * call.experts;
	for (int i = lane; i < call.experts; i += 32)
		row[i] = __float2bfloat16(0.0f);
	const bool chosen = lane < call.top_k;
	const int expert = chosen ? call.index[token * call.top_k + lane] : 0;
	const float grad = chosen ? call.weight_grad[token * call.top_k + lane] : 0.0f;
	const float score = chosen ? sigmoid(call.logits[token * call.experts + expert]) : 0.0f;
	const float sum = warp_sum(score);
	const float dot = warp_sum(score * grad);
	__syncwarp();
	if (chosen)
		row[expert] = __float2bfloat16(
			router_scale * (grad - dot / sum) / sum * score * (1.0f - score));
}

} // namespace

static void check_router(const Model &model)
{
	if (model.experts % 32 != 0 || model.experts > 32 * most_a_lane || model.top_k > 32 ||
		model.groups < 1 || 32 % model.groups != 0)
		throw Unsupported("a router of " + std::to_string(model.experts) +
				  " experts in " + std::to_string(model.groups) + " groups");
}

void route(const Model &model, const float *logits, const float *bias, int64_t tokens,
	int *index, float *weight, cudaStream_t stream)
{
	check_router(model);
	const Route call = {logits, bias, tokens, model.experts / 32, model.top_k, model.groups,
		model.top_groups, index, weight};
	route_kernel<<<unsigned((tokens * 32 + block - 1) / block), block, 0, stream>>>(call);
	LAUNCH_CHECK();
}

void route_backward(const Model &model, const float *logits, const int *index,
	const float *weight_grad, int64_t tokens, bf16 *dlogits, cudaStream_t stream)
{
	check_router(model);
	const RouteBackward call = {
		logits, index, weight_grad, tokens, model.experts, model.top_k, dlogits};
	route_backward_kernel<<<unsigned((tokens * 32 + block - 1) / block), block, 0,
		stream>>>(call);
	LAUNCH_CHECK();
}

} // namespace bench
