#!/bin/sh
# Builds the fuzz targets with the stable toolchain, and runs each of them, or those that are named,
# for so many seconds: run.sh SECONDS [TARGET...]. Fails where one of them found something.
set -eu
cd "$(dirname "$0")"
seconds=$1
shift
# The flags of cargo-fuzz, without the sanitizers, which need a nightly toolchain.
RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
 -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions" \
	cargo build --release --target "$(rustc -vV | sed -n 's/^host: //p')"
[ -d seeds ] || ./seeds.sh
[ $# -gt 0 ] || set -- $(sed -n 's/^name = "\(.*\)"$/\1/p' Cargo.toml | grep -v diskscope)
binaries=$(find "${CARGO_TARGET_DIR:-target}" -path '*/release' -type d | head -1)
failed=
for target; do
	mkdir -p "corpus/$target" "artifacts/$target"
	echo "== $target"
	"$binaries/$target" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=4096 \
		-artifact_prefix="artifacts/$target/" "corpus/$target" "seeds/$target" || failed="$failed $target"
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
