#include "attention.h"

namespace bench
{

std::unique_ptr<Attention> make_attention(
	const std::string &kind, const AttentionTask &task, Gemm &gemm, std::string &why)
{
	if (kind == "gemm_softmax")
		return make_gemm_attention(task, gemm);
	if (kind == "cudnn")
		return make_cudnn_attention(task);
	if (kind != "auto")
		throw Unsupported("attention '" + kind + "': auto, cudnn or gemm_softmax");
	try {
		return make_cudnn_attention(task);
	} catch (const Unsupported &reason) {
		why = reason.what();
		return make_gemm_attention(task, gemm);
	}
}

} // namespace bench
