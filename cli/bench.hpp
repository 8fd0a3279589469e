// `warpaes bench`: throughput by backend, mode, key, size and where the data lies.
#pragma once

int run_bench(int argc, char** argv);
