#include "cpu/update.hpp"

#include "cpu/features.hpp"

namespace warpaes::cpu {

#if defined(__x86_64__) || defined(__aarch64__)

namespace {

struct Choice {
    const UpdateKernels* kernels;
    std::string (*why_not)(const CpuWords&);
};
#if defined(__x86_64__)
constexpr Choice choices[] = {
#if WARPAES_VAES
    {&update_kernels_vaes512, why_not_vaes512},
    {&update_kernels_vaes256, why_not_vaes256},
#endif
    {&update_kernels_aesni, why_not_aesni}};
#else
constexpr Choice choices[] = {{&update_kernels_armv8, why_not_armv8}};
#endif

}  // namespace

const UpdateKernels* update_kernels(std::string_view backend, std::string& why) {
    why = backend.empty() ? "" : "there is no backend '" + std::string(backend) + "' with update kernels";
    for (const Choice& choice : choices) {
        if (!backend.empty() && choice.kernels->name != backend) continue;
        why = choice.why_not(this_cpu());
        if (why.empty()) return choice.kernels;
    }
    return nullptr;
}

#else

const UpdateKernels* update_kernels(std::string_view /*backend*/, std::string& why) {
    why = why_not_aesni();
    return nullptr;
}

#endif

}  // namespace warpaes::cpu
