# What dispatch, combine, P2P, the capture and the program itself are made of.
COMMUNICATION := bench bench-steps capture check-comm check-waiting chip clock comm comm-data comm-kernels device event graph \
	governor governor-plan main nccl nvml options p2p pair partition permute progress provenance \
	replay replay-order report report-series resident resident-nccl rig route sampler samples trace-writer waiting

# The commit a trace comes from; a build outside a repository may pass it.
GIT_SHA ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null)
$(BUILD)/provenance.o: CXXFLAGS += -DGIT_SHA='"$(GIT_SHA)"'
