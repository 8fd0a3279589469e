// The author of a kernel includes only this header.
#include <warpaes/device.cuh>
