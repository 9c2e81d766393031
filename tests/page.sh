#!/bin/sh
# The page of --report in a browser without a window: it opens without a word on the console, asks the network for
# nothing, and says what its data says where the pointer is, however near one looks.
# shellcheck source=tests/lib.sh
. "${TOP_SRCDIR:=.}/tests/lib.sh"
sources=$(cd "$TOP_SRCDIR" && pwd)
case $PIPESIM in
/*) ;;
*) PIPESIM=$PWD/$PIPESIM ;;
esac
command -v python3 >/dev/null || skip 'no python3 to drive a browser with'
PYTHONPATH=$sources/tests/page
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
python3 -c 'import browser, sys; sys.exit(browser.find() is None)' 2>/dev/null || skip 'no Chromium to open pages in'

cd "$scratch" || exit 99
make_page() # NAME ARGUMENT...
{
	page=$1.html
	shift
	"$PIPESIM" "$@" --report "$page" >out 2>err || fail "pipesim $*: $(head -n 2 err)"
}
shape='--pp 8 --microbatches 20'
# shellcheck disable=SC2086 # $shape is several words
{
	make_page small $shape -s 1f1b,zb-v,dualpipe --activation-bytes 1GB --parameter-bytes 10GB --memory-limit 20GB
	make_page all $shape --samples 50 --jitter 0.05
}
make_page messages --pp 4 --microbatches 8 -s zb-h1 --times P2P=0.15 --runtime pytorch-2.11
make_page speeds --pp 4 --microbatches 8 --costs "$sources/tests/input/costs-power.ini" --runtime native -s zb-v
make_page large --pp 16 --microbatches 128 -s 1f1b,zb-h1,zb-v
make_page beside --pp 4 --microbatches 8 -s po-h,vocab-2 --times F=1,B=2,COPY=0.5,S=0.1,T=0.1,BCAST_H=0.3,REDUCE_S=0.3
make_page copies --pp 4 --microbatches 8 -s 1f1b --offload-fraction 0.5 --times F=1,B=2,COPY=0.5
make_page left-out --pp 64 --microbatches 800 -s 1f1b,zb-h1
mkdir '<' && cp "$sources/tests/input/one-rank.csv" '</script><b onclick="x()">&.csv'
"$PIPESIM" diagnose "$sources/tests/input/run/ops.csv" --full --report diagnosis.html >diagnosis.txt 2>err || fail "diagnose: $(head -n 2 err)"
make_page sweep sweep --pp 4,8 -m 16,32,64 -s 1f1b,zb-h1,zb-v
make_page optimized optimize --pp 4 -m 8 --max-activations 3 --time 0
make_page plan plan --model llama-3-8b --gpus 4 --memory 80GiB --global-batch 8 --tp 1 --dp 1 -s 1f1b
"$PIPESIM" diff zb-v 1f1b --pp 4 -m 8 --report diff.html >out 2>err
make_page names -s '</script><b onclick="x()">&.csv'
if python3 "$sources/tests/page/check.py" "$scratch" >said 2>&1; then
	grep '^FAIL: ' said
	# shellcheck disable=SC2046 # "checks N failures N"
	set -- $(tail -n 1 said)
	checks=$((checks + $2)) failures=$((failures + $4))
else
	fail "the browser: $(tail -n 3 said)"
fi
finish
