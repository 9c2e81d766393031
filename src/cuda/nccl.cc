#include "nccl.h"
#include "cuda-check.h"
#include <dlfcn.h>

namespace bench
{

/* The part of NCCL's interface that is used here, as its manual gives it. */
struct Nccl::Api {
	void *library;
	const char *(*error)(int);
	int (*version)(int *);
	int (*init_all)(void **, int, const int *);
	int (*destroy)(void *);
	int (*abort)(void *);
	int (*group_start)();
	int (*group_end)();
	int (*send)(const void *, size_t, int, int, void *, cudaStream_t);
	int (*receive)(void *, size_t, int, int, void *, cudaStream_t);
};

namespace
{

constexpr int kInt8 = 0; /* ncclInt8 */

template <class F> bool find(void *library, const char *name, F &function)
{
	function = (F)dlsym(library, name);
	return function != nullptr;
}

} // namespace

void Nccl::check(int status, const char *call) const
{
	if (status != 0)
		throw CudaError(std::string(call) + ": " + api->error(status));
}

Nccl::Nccl(const std::vector<int> &devices) : devices(devices), comms(devices.size())
{
	void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		throw Unsupported("libnccl.so.2 cannot be loaded");
	Api found = {};
	found.library = library;
	bool all = find(library, "ncclGetErrorString", found.error) &&
		   find(library, "ncclGetVersion", found.version) &&
		   find(library, "ncclCommInitAll", found.init_all) &&
		   find(library, "ncclCommDestroy", found.destroy) &&
		   find(library, "ncclCommAbort", found.abort) &&
		   find(library, "ncclGroupStart", found.group_start) &&
		   find(library, "ncclGroupEnd", found.group_end) &&
		   find(library, "ncclSend", found.send) &&
		   find(library, "ncclRecv", found.receive);
	int status =
		all ? found.init_all(comms.data(), (int)devices.size(), devices.data()) : 0;
	if (!all || status != 0) {
		std::string why =
			all ? std::string("ncclCommInitAll: ") + found.error(status)
			    : std::string("libnccl.so.2 lacks a function that is needed");
		dlclose(library);
		throw Unsupported(why);
	}
	api = new Api(found);
}

/* The library stays loaded: its threads may outlive a communicator. */
Nccl::~Nccl()
{
	for (size_t r = 0; !aborted && r < comms.size(); r++) {
		cudaSetDevice(devices[r]);
		api->destroy(comms[r]);
	}
	delete api;
}

std::string Nccl::version() const
{
	int number = 0;
	check(api->version(&number), "ncclGetVersion");
	return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
	       std::to_string(number % 100);
}

void Nccl::send(int rank, int to, const void *data, int64_t bytes, cudaStream_t stream)
{
	CUDA_CHECK(cudaSetDevice(devices[rank]));
	check(api->send(data, (size_t)bytes, kInt8, to, comms[rank], stream), "ncclSend");
}

void Nccl::receive(int rank, int from, void *data, int64_t bytes, cudaStream_t stream)
{
	CUDA_CHECK(cudaSetDevice(devices[rank]));
	check(api->receive(data, (size_t)bytes, kInt8, from, comms[rank], stream), "ncclRecv");
}

void Nccl::exchange(const std::vector<void *> &data, const std::vector<cudaStream_t> &streams,
	int64_t bytes)
{
	int ranks = (int)comms.size();
	check(api->group_start(), "ncclGroupStart");
	for (int r = 0; r < ranks; r++) {
		for (int peer : {(r + 1) % ranks, (r + ranks - 1) % ranks}) {
			char *mine = (char *)data[r];
			send(r, peer, mine, bytes, streams[r]);
			receive(r, peer, mine + bytes, bytes, streams[r]);
			if (ranks == 2)
				break;
		}
	}
	check(api->group_end(), "ncclGroupEnd");
	for (int r = 0; r < ranks; r++) {
		CUDA_CHECK(cudaSetDevice(devices[r]));
		CUDA_CHECK(cudaStreamSynchronize(streams[r]));
	}
}

void Nccl::abort()
{
	aborted = true;
	for (void *comm : comms)
		api->abort(comm);
}

} // namespace bench
