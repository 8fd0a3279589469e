// Implements the lab's GPU interface in a build without CUDA, in which there is no device.
#include "lab/experiment.hpp"
#include "lab/gpu/contenders.hpp"
#include "lab/gpu/device.hpp"
#include "lab/gpu/dpf.hpp"
#include "lab/gpu/leakage.hpp"
#include "lab/gpu/memory_reads.hpp"
#include "lab/gpu/payload.hpp"
#include "lab/gpu/stream_reads.hpp"
#include "lab/gpu/variants.hpp"

namespace lab::gpu {
namespace {

[[noreturn]] void leave_out() {
    throw LeftOut("this build has no CUDA; configure it with a CUDA compiler");
}

}  // namespace

int count() {
    return 0;
}

void use(int) {
    leave_out();
}

void synchronize() {
    leave_out();
}

Properties properties(int) {
    leave_out();
}

std::size_t free_memory() {
    leave_out();
}

DeviceMemory::DeviceMemory(std::size_t) {
    leave_out();
}

DeviceMemory::~DeviceMemory() = default;

HostMemory::HostMemory(std::size_t, Kind) {
    leave_out();
}

HostMemory::~HostMemory() = default;

std::uint8_t* HostMemory::on_device() const {
    leave_out();
}

Stream::Stream() {
    leave_out();
}

Stream::~Stream() = default;

Gate::Gate(const Stream&) : stream_(nullptr) {
    leave_out();
}

Gate::~Gate() = default;

void Stream::synchronize() const {
    leave_out();
}

Event::Event() {
    leave_out();
}

Event::~Event() = default;

void Event::record(const Stream&) {
    leave_out();
}

void Event::synchronize() const {
    leave_out();
}

void Event::hold(const Stream&) const {
    leave_out();
}

double Event::since(const Event&) const {
    leave_out();
}

void copy(void*, const void*, std::size_t) {
    leave_out();
}

void copy(void*, const void*, std::size_t, const Stream&) {
    leave_out();
}

void fill(void*, std::uint8_t, std::size_t) {
    leave_out();
}

void fill(void*, std::uint8_t, std::size_t, const Stream&) {
    leave_out();
}

std::vector<std::uint8_t> fetch(const DeviceMemory&) {
    leave_out();
}

DeviceMemory on_device(std::span<const std::uint8_t>) {
    leave_out();
}

double seconds_of(const Stream&, const std::function<void()>&) {
    leave_out();
}

MemoryReads::MemoryReads(int, std::uint32_t, std::uint32_t, std::uint32_t) {
    leave_out();
}

std::uint64_t MemoryReads::reads(std::uint64_t) const {
    leave_out();
}

ReadTimes MemoryReads::run(ReadFrom, ReadPattern, std::uint64_t) {
    leave_out();
}

bool MemoryReads::verify() {
    leave_out();
}

StreamReads::StreamReads(std::uint32_t, std::uint32_t, std::uint32_t) {
    leave_out();
}

double StreamReads::run(std::uint32_t) {
    leave_out();
}

bool StreamReads::verify() const {
    leave_out();
}

PayloadOnDevice::PayloadOnDevice() {
    leave_out();
}

void PayloadOnDevice::load(const PreparedPayload&, const KeySchedules&) {
    leave_out();
}

void PayloadOnDevice::run(const std::uint8_t*, std::uint8_t*, ThreadMapping, const Runs&, const Stream&) const {
    leave_out();
}

void PayloadOnDevice::run_freely(std::optional<Mode>, const std::uint8_t*, std::uint8_t*, const Stream&) const {
    leave_out();
}

Resources PayloadOnDevice::resources(std::optional<Mode>) {
    leave_out();
}

std::span<const Entry> variants() {
    return {};
}

struct Variants::State {};

Variants::Variants(std::span<const std::uint8_t>) {
    leave_out();
}

Variants::Variants(Variants&&) noexcept = default;
Variants& Variants::operator=(Variants&&) noexcept = default;
Variants::~Variants() = default;

void Variants::run(const Entry&, const Geometry&, const std::uint8_t*, std::uint8_t*, std::size_t,
                   std::span<const std::uint8_t>, const Stream&) const {
    leave_out();
}

Resources Variants::resources(const Entry&, unsigned) {
    leave_out();
}

std::size_t first_difference(const std::uint8_t*, const std::uint8_t*, std::size_t, const Stream&) {
    leave_out();
}

void run_bitsliced(std::span<const std::uint8_t>, std::span<const std::uint8_t>, const std::uint8_t*, std::uint8_t*,
                   std::size_t, const Stream&) {
    leave_out();
}

Resources bitsliced_resources(bool) {
    leave_out();
}

void run_grouped(std::span<const std::uint8_t>, unsigned, const std::uint8_t*, std::uint8_t*, std::size_t,
                 const Stream&) {
    leave_out();
}

struct CachedCounter::State {};

CachedCounter::CachedCounter(std::span<const std::uint8_t>, std::span<const std::uint8_t>, std::size_t) {
    leave_out();
}

CachedCounter::~CachedCounter() = default;

void CachedCounter::run(const std::uint8_t*, std::uint8_t*, std::size_t, const Stream&) const {
    leave_out();
}

DpfServer::DpfServer(std::span<const DpfNode>, unsigned, std::size_t) {
    leave_out();
}

void DpfServer::load(std::span<const DpfKey>) {
    leave_out();
}

void DpfServer::run(Prg, const Stream&) {
    leave_out();
}

std::vector<DpfNode> DpfServer::answers() const {
    leave_out();
}

WarpTimer::WarpTimer() {
    leave_out();
}

WarpTimes WarpTimer::measure(Timed, const WarpInputs&, bool) {
    leave_out();
}

}  // namespace lab::gpu
