# `make help` lists the targets. Everything is built under build/, in one folder per preset.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
PREFIX ?= /usr/local
GPU ?= auto

sources = $(shell git ls-files '*.c' '*.h' '*.cpp' '*.hpp' '*.cu' '*.cuh' 'lab/*.js')

each_source = printf '%s\n' $(sources) | xargs -P "$$(nproc)" -n 32

.PHONY: help demo test check-all gpu-test bench compare python-bench bulk-bench cluster-test provider-bench server-bench deb asan tsan faults fuzz cuda arm clang tidy docs site recording format check-format lint wheel install uninstall install-lab clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\): .*## \(.*\)/  \1\t\2/p' Makefile | expand -t 18

demo: ## build, encrypt a real file, inspect, verify and decrypt it, then do the same with OpenSSL
	@tools/demo

test: ## build and run every test that needs no GPU
	@tools/setup test
	@WARPAES_CMAKE_OPTIONS="-DWARPAES_SAMPLE=$(WARPAES_SAMPLE) $(WARPAES_CMAKE_OPTIONS)" tools/build default
	@ctest --preset default $(CTEST_OPTIONS)

check-all: ## run CI with all sampled tests, and the checks that CI omits: every GPU architecture, all of asan, clang, the fuzzers
	@.ci/run all
	@$(MAKE) cuda asan clang fuzz

gpu-test: ## run tests, compute-sanitizer and benchmarks on a GPU; writes a record to bench/results
	@tools/setup test
	@tools/gpu_test.py

bench: ## measure this machine: one core compared with ipsec-mb and libcrypto, all cores with memcpy, every backend, mode and size
	@tools/setup bench
	@tools/build default one_core all_cores path_sweep warpaes_cli
	@tools/one_core.py
	@! test -x build/default/bench/batch_peer || build/default/bench/batch_peer
	@build/default/bench/all_cores
	@build/default/cli/warpaes bench
	@tools/path_sweep.py --no-build build/default

compare: ## compare whole processes on a file of 1 GiB: age, openssl, libsodium, Tink, zstd, warpaes, and a disk; writes a record
	@tools/setup bench
	@tools/build default warpaes_cli
	@tools/compare.py

python-bench: ## compare the Python package with pyca/cryptography, Tink, cryptotensors and NumPy; writes a record
	@tools/setup test
	@tools/build default warpaes_python
	@PYTHONPATH=build/default/python .venv/tests/bin/python3 -B tools/python_bench.py

bulk-bench: ## compare `warpaes bulk` with a loop of pyca and boto3; measure its speed and memory for large objects; writes a record
	@tools/setup test
	@tools/build default warpaes_python
	@PYTHONPATH=build/default/python .venv/tests/bin/python3 -B tools/bulk_bench.py

provider-bench: ## compare the provider with OpenSSL's default provider; writes a record
	@tools/build default warpaes_provider provider_speed
	@tools/provider_bench.py

server-bench: ## measure the processor time of nginx with and without the provider; writes a record
	@tools/build default warpaes_provider
	@tools/server_bench.py

cluster-test: ## run `warpaes bulk` on a local Ray cluster, with a faulty object store and killed workers
	@tools/setup cluster
	@tools/build default warpaes_python
	@PYTHONPATH=build/default/python .venv/cluster/bin/python3 -B tests/cluster/cluster_test.py $(CLUSTER_TEST_OPTIONS)

asan: ## run tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/setup test
	@tools/build asan
	@ctest --preset asan

tsan: ## run tests of several threads under ThreadSanitizer
	@tools/setup test
	@tools/build tsan test_abi_batch test_base test_pipeline test_provider test_streams
	@ctest --preset tsan

faults: ## make every system call and CUDA call fail once; writes a record
	@tools/setup test
	@tools/fault_matrix.py

fuzz: ## run the fuzzers, for SECONDS (10) or RUNS executions per target
	@tools/setup test
	@tools/fuzz.py $(if $(RUNS),--record --runs $(RUNS),--seconds $(or $(SECONDS),10)) $(TARGETS)

cuda: ## compile the library and the command for CUDA; needs neither a GPU nor a toolkit
	@tools/setup test
	@tools/build cuda warpaes_cli warpaes_lab_program device_header copy_bench

arm: ## cross-compile for 64-bit Arm, and run tests in an emulator
	@tools/arm

clang: ## compile everything with clang and fail on any warning; PATHS="src cli" compiles only these folders
	@tools/setup clang
	@tools/clang.py check $(PATHS)

tidy: ## run clang-tidy (.clang-tidy); PATHS as for clang
	@tools/setup clang
	@tools/clang.py tidy $(PATHS)

docs: ## regenerate the figures of README.md and docs/ from bench/results
	@python3 -B bench/report.py
	@python3 -B bench/robustness.py

site: ## build the documentation's site in build/site, with the reference of the headers and the Python package
	@tools/setup site
	@NO_MKDOCS_2_WARNING=1 .venv/site/bin/mkdocs build --strict --quiet
	@echo "build/site/index.html; with the search: python3 -m http.server -d build/site"

recording: ## record the README's commands on a terminal and draw docs/demo.svg
	@tools/setup demo
	@tools/build default warpaes_cli
	@tools/record_demo.py
	@python3 -B bench/report.py

format: ## format C++, CUDA, JavaScript and Python
	@tools/setup tools
	@$(each_source) .venv/tools/bin/clang-format -i
	@.venv/tools/bin/ruff format -q
	@.venv/tools/bin/ruff check -q --fix

check-format: ## fail if `make format` would change a file
	@tools/setup tools
	@$(each_source) .venv/tools/bin/clang-format --dry-run --Werror
	@.venv/tools/bin/ruff format --check -q
	@.venv/tools/bin/ruff check -q

lint: ## check workflows, recipes and scripts with their own linters
	@tools/setup lint
	@tools/lint

wheel: ## build the Python wheel in build/dist; GPU=yes or GPU=no: with or without CUDA
	@tools/setup wheel
	@WARPAES_GPU=$(GPU) tools/wheel

install: ## install library and command into PREFIX (default /usr/local); GPU=yes or GPU=no: with or without CUDA
	@tools/setup install
	@WARPAES_GPU=$(GPU) tools/build release
	@cmake --install build/release --prefix $(PREFIX)
	@tools/installed note build/release

uninstall: ## remove the files of `make install` and `make install-lab`
	@tools/installed remove build/release build/release-lab

deb: ## build Debian packages of the commit in build/deb: library, development files, command, provider
	@tools/setup deb
	@tools/deb

install-lab: ## also install `warpaes lab`
	@tools/setup demo
	@WARPAES_GPU=$(GPU) tools/build release-lab warpaes_lab_program
	@cmake --install build/release-lab --prefix $(PREFIX) --component lab
	@tools/installed note build/release-lab

clean: ## remove build/
	@rm -rf build
