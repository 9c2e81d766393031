#include "transformer/reserve.h"

#define MIB(n) ((gint64)((n) * (1 << 20)))

/* Outside of the allocator, as pith-train measured it on 32 H100s with PP 4 and EP 8 in nodes
 * of eight (tools/memory_estimator/__main__.py): context 0.52 GiB, NCCL's group of all ranks
 * 0.39, those of PP and EP 1.0, FSDP with its group 0.96, the first step 2.97.
 * The group of all ranks stands for each. A ring has buffers towards one rank and from another
 * in every communicator: NCCL's maintainers say that these do not grow with the ranks, and that
 * groups share none (github.com/NVIDIA/nccl/issues/864, 964; there 544 and 688 MB for a group
 * on four A100s, with trees). What PP's group has beyond that are buffers to send and receive,
 * which all peers over the network share.
 * An all-to-all connects every two ranks of a node: NCCL has 4 MiB for its plain protocol, 512
 * KiB and 4.7 MiB for both low-latency ones, in each of 32 communicators (init.cc,
 * computeBuffSizes(); graph/paths.cc, ncclTopoComputeP2pCommunicators()): 294 MiB a rank. Seven
 * of these are two thirds of pith-train's first step; this is derived, not measured. What is
 * left of it and of FSDP are code, compiled or loaded late, and workspaces.
 * The allocator: what SimuMax's twelve stages on B200s reserved beyond what was allocated is
 * 2.8 to 7.5 % of that, 4.4 in the mean; 7.1 to 9.3 %, 8.0 in the mean, with context
 * parallelism, whose buffers come and go beside each other's (docs/memory.md). */
static const struct {
	gint64 context, communicator, pipeline, connection, libraries;
	gint64 allocator[2]; /* thousandths of the peak, with context parallelism */
} measured[] = {
	[PIPESIM_RESERVE_LEAST] = {MIB(532), MIB(399), 0, 0, MIB(491), {28, 71}},
	[PIPESIM_RESERVE_USUAL] = {MIB(532), MIB(399), MIB(225), MIB(294), MIB(1577), {44, 80}},
	[PIPESIM_RESERVE_MOST] = {MIB(532), MIB(656), MIB(225), MIB(294), MIB(1577), {75, 93}},
};

guint pipesim_reserve_communicators(const PipesimTraining *training, gint64 pp)
{
	const gint64 data = training->dp * training->cp;
	const gint64 sizes[] = {pp * training->tp * data, training->tp, training->cp,
		training->ep * training->etp, pp,
		pp > 1 && training->tp > 1 ? pp * training->tp : 1, data,
		training->ep > 1 ? pipesim_training_expert_dp(training) : 1};

	return (guint)pipesim_sum(i, G_N_ELEMENTS(sizes), sizes[i] > 1);
}

PipesimReserve pipesim_reserve(const PipesimTraining *training, gint64 pp, gint64 node,
	gint64 peak, PipesimReserveBound bound)
{
	const gint64 exchanging = MAX(training->ep, training->cp_all_to_all ? training->cp : 1);

	return (PipesimReserve){.context = measured[bound].context,
		.communicators = pipesim_reserve_communicators(training, pp) *
					 measured[bound].communicator +
				 (pp > 1 ? measured[bound].pipeline : 0),
		.connections =
			(CLAMP(exchanging, 1, MAX(node, 1)) - 1) * measured[bound].connection,
		.libraries = measured[bound].libraries,
		.allocator = peak / 1000 * measured[bound].allocator[training->cp > 1]};
}
