/* Which expert every token goes to, and the tables with which the communication kernels move
 * it.
 *
 * The shape of a rank is that of 64-way expert parallelism whatever the number of GPUs: eight
 * groups of experts, of which a token uses four (its fan-out), each group with `experts_local`
 * experts, and `topk` experts in all. Group g lives on GPU g mod ranks. A token is sent once
 * per group that it uses, so that every GPU sends about tokens x 4 rows and its experts compute
 * about tokens x topk rows, on one GPU as on eight; only the share that crosses a link differs.
 */
#pragma once
#include <cstdint>
#include <vector>

namespace bench
{

struct RouteShape {
	int ranks = 1;         /* GPUs: 1, 2, 4 or 8 */
	int tokens = 4096;     /* tokens of each rank's micro-batch */
	int experts_local = 4; /* experts per GPU */
	int topk = 8;          /* experts per token */
	int groups = 8;        /* groups of experts; a multiple of ranks */
	int fanout = 4;        /* groups per token, at most 8 */
	uint64_t seed = 1;
};

/* No copy of the token in this place of its fan-out. */
constexpr uint32_t kNoCopy = 0xffffffffu;

/* A copy's destination: rank in the upper 8 bits, slot on that rank in the lower 24. */
constexpr uint32_t pack_copy(int rank, int slot)
{
	return (uint32_t)rank << 24 | (uint32_t)slot;
}

/* One rank's tables. "Copies" are the rows that this rank receives; they are numbered by slot,
 * in the order of source rank, source token, group. */
struct RankRoute {
	std::vector<uint32_t> send; /* [tokens][fanout], pack_copy() or kNoCopy */
	std::vector<float> weight;  /* [tokens][fanout], sums to 1 per token */
	std::vector<int32_t>
		recv_begin;           /* [ranks][tokens + 1]: first slot of each source token */
	std::vector<int32_t> home;    /* [copies]: token * fanout + place on the source rank */
	std::vector<int> expert_rows; /* [experts_local]: rows that each expert computes */
	std::vector<int32_t> row_slot;  /* [rows], grouped by expert: the copy each one reads */
	std::vector<int32_t> slot_row;  /* [copies][experts_local]: rows of a copy, then -1 */
	std::vector<float> slot_weight; /* the same shape; sums to 1 per copy */
	int copies = 0;                 /* rows received */
	int rows = 0;                   /* sum of expert_rows */
	int sent = 0;                   /* rows sent, to itself included */
	int sent_remote = 0;            /* rows sent to other ranks */
};

/* Draws scores from `shape.seed` and routes every token; the same shape gives the same tables.
 */
std::vector<RankRoute> make_route(const RouteShape &shape);

} // namespace bench
