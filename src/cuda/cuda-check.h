/* Every CUDA and library call of the microbenchmark goes through one of these, but for those of
 * destructors: a failure says what failed, where, and why, and throws; main prints it and
 * writes what was captured until then. */
#pragma once
#include <cublasLt.h>
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>

namespace bench
{

/* A call that failed: what() reads "file:line: call: reason". */
struct CudaError : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* This host, library or GPU cannot do what was asked; the component is left out, with its
 * reason. */
struct Unsupported : std::runtime_error {
	using std::runtime_error::runtime_error;
};

[[noreturn]] inline void call_failed(
	const char *file, int line, const char *call, const std::string &reason)
{
	throw CudaError(
		std::string(file) + ":" + std::to_string(line) + ": " + call + ": " + reason);
}

inline void check_cuda(cudaError_t status, const char *file, int line, const char *call)
{
	if (status != cudaSuccess)
		call_failed(file, line, call, cudaGetErrorString(status));
}

inline void check_cublas(cublasStatus_t status, const char *file, int line, const char *call)
{
	if (status != CUBLAS_STATUS_SUCCESS)
		call_failed(file, line, call, cublasLtGetStatusString(status));
}

} // namespace bench

#define CUDA_CHECK(call)   ::bench::check_cuda((call), __FILE__, __LINE__, #call)
#define CUBLAS_CHECK(call) ::bench::check_cublas((call), __FILE__, __LINE__, #call)
/* After a kernel launch, which returns nothing. */
#define LAUNCH_CHECK() \
	::bench::check_cuda(cudaGetLastError(), __FILE__, __LINE__, "kernel launch")
