// Authors of kernels need to include only this header.
#include <warpaes/device.cuh>
