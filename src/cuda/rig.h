/* One layer on each of some GPUs, and the exchange between these: everything of which components
 * are made. A benchmark of whole components has one rig of all GPUs; what runs other ops on
 * each GPU has a rig a GPU, whose exchange stays within it. */
#pragma once
#include "comm.h"
#include "layer.h"
#include "options.h"
#include "pair.h"
#include <memory>
#include <vector>

namespace bench
{

/* Not copyable; one host thread at a time makes Works and captures them. */
class Rig
{
      public:
	/* Throws UsageError where the model's experts do not fit as many GPUs. */
	Rig(const Options &options, const Model &model, const std::vector<int> &devices);
	Rig(const Rig &) = delete;
	Rig &operator=(const Rig &) = delete;

	/* Algorithms are chosen by measurement, once per budget of SMs (0 = all) and device. */
	void prepare(int sms);
	/* The components of a rank; `comm_sms` 0: the exchange by copy engines. */
	LayerWorks layer_works(int rank, int comm_sms);
	/* Everything of a phase that is no product and no attention: norms, rotary embedding,
	 * casts, SwiGLU, transposes. Nothing to enqueue where there is no such. */
	Work elementwise(int rank, const char *phase);
	/* The MLP as a rank runs it: received rows go to the experts first, and back into one
	 * row per received row in the end. */
	Work with_permutation(const Work &mlp, const PermuteArgs &args) const;

	RouteShape route_shape(int topk) const;
	std::unique_ptr<Comm> make_comm(const std::vector<RankRoute> &route) const;
	std::unique_ptr<Layer> make_layer(int rank, const std::vector<RankRoute> &route) const;

	const std::vector<int> devices;
	bool fp8 = true;
	std::vector<std::unique_ptr<Layer>> layers; /* [rank] */
	std::unique_ptr<Comm> comm;                 /* null: a dense model */
	CommSettings how[2];                        /* by CommKind */

      private:
	Work exchange(CommKind kind, int rank, const char *component, const char *phase,
		const CommSettings &settings, int sms);
	Options options;
	Model model;
	std::vector<RankRoute> route;
	std::vector<int> prepared; /* SM budgets that the layers know */
};

} // namespace bench
