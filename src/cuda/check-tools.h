/* Shared by the check-*.cc files: random inputs in both precisions, outputs back in double. */
#pragma once
#include "check-compute.h"
#include "elementwise.h"
#include "linear.h"
#include "reference.h"

namespace bench
{

using reference::Values;

/* Relative errors that each path may have. Rounding to BF16 alone gives 1.7e-3. */
constexpr double rounding_limit = 4e-3;
constexpr double bf16_limit = 1e-2;
constexpr double fp8_limit = 4e-2;

/* Collects results; draws data, each array from a seed of its own. */
class Checker
{
      public:
	explicit Checker(uint64_t seed) : seed(seed)
	{
	}
	/* A random BF16 array on the device and the same numbers in double. */
	struct Input {
		Buffer<bf16> device;
		Values host;
		operator const bf16 *() const
		{
			return device;
		}
		operator bf16 *() const
		{
			return device;
		}
	};
	Input draw(int64_t count, float mean = 0, float sigma = 1);
	uint64_t next_seed();
	/* A random FP8 or BF16 matrix: its source and what it really holds. */
	struct Operand {
		Input source;
		OwnedMatrix matrix;
		Values held;
	};
	Operand draw_matrix(int64_t rows, int cols, bool fp8, const Segments &segments);
	/* ||out - reference|| / ||reference|| against a limit; sizes must agree. */
	void compare(const std::string &name, const Values &out, const Values &expected,
		double limit, const std::string &note = "");
	/* A number that must not exceed its limit. */
	void require(const std::string &name, double error, double limit,
		const std::string &note = "");
	void skip(const std::string &name, const std::string &why);
	bool has_fp8() const;
	std::vector<CheckResult> results;

      private:
	uint64_t seed;
};

/* Device arrays as doubles; waits for the device. */
Values to_double(const Buffer<bf16> &buffer);
Values to_double(const Buffer<float> &buffer);
/* What a Matrix or a transpose (put back upright) says, scales applied. */
Values to_double(const Matrix &matrix);
Values to_double(const Transposed &transposed, const Matrix &upright);
double from_e4m3(uint8_t bits);
Buffer<float> upload_float(const Values &values);
void poison_matrix(const Matrix &matrix);
template <class T> void poison(Buffer<T> &buffer)
{
	poison(buffer.get(), buffer.bytes());
}

void check_elementwise(Checker &checker);
void check_heads(Checker &checker);
void check_gemm(Checker &checker);
void check_attention(Checker &checker);
void check_layer(Checker &checker);

} // namespace bench
