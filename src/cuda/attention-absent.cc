/* Stands in for attention-cudnn.cc where cuDNN or the headers of its frontend are not
 * installed. */
#include "attention.h"

namespace bench
{

std::unique_ptr<Attention> make_cudnn_attention(const AttentionTask &)
{
	throw Unsupported("built without cuDNN and cudnn-frontend (CUDNN_FRONTEND=DIR)");
}

} // namespace bench
