// A second translation unit that includes the header and is compiled as C++17. This unit and kernels.cu can be linked
// into one program.
#include <warpaes/device.cuh>

#include "launch.cuh"

namespace device_test {

namespace {

__global__ void one_block(const __grid_constant__ warpaes::device::key_schedule<128> keys, uint4 in, uint4* out) {
    const warpaes::device::tables<1> t(dynamic_shared());
    t.load();
    if (threadIdx.x == 0) *out = warpaes::device::encrypt_block(t, keys, in);
}

}  // namespace

Bytes encrypt_in_second_unit(const Bytes& key, const Bytes& block) {
    const Buffer out(16);
    uint4 in;
    std::memcpy(&in, block.data(), sizeof in);
    launch(one_block, Shape{1, {32, 1, 1}}, warpaes::device::tables<1>::bytes,
           warpaes::device::expand_key(warpaes::device::make_key<128>(key.data())), in, out.blocks());
    return out.fetch();
}

}  // namespace device_test
