// The header is all that a kernel's author includes.
#include <warpaes/device.cuh>
