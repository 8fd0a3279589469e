#include "cuda/batch_side.hpp"

#include "base/secret.hpp"

namespace warpaes::cuda {

void BatchSide::reserve() {
    host_.reserve(placed_);
    device_.reserve(placed_);
    bytes_ = placed_;  // from here on there is something to wipe
}

void BatchSide::copy_in(cudaStream_t stream) const {
    check(cudaMemcpyAsync(device(), host(), bytes_, cudaMemcpyHostToDevice, stream), "copying to the device");
}

void BatchSide::copy_out(cudaStream_t stream) const {
    if (bytes_ <= back_) return;
    check(cudaMemcpyAsync(host() + back_, device() + back_, bytes_ - back_, cudaMemcpyDeviceToHost, stream),
          "copying from the device");
}

void BatchSide::wipe(cudaStream_t stream) const noexcept {
    if (bytes_ <= secret_) return;
    warpaes::wipe({host() + secret_, bytes_ - secret_});
    wipe_device(stream);
}

void BatchSide::wipe_device(cudaStream_t stream) const noexcept {
    if (bytes_ <= secret_) return;
    (void)cudaMemsetAsync(device() + secret_, 0, bytes_ - secret_, stream);
}

}  // namespace warpaes::cuda
