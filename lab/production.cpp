#include "lab/production.hpp"

#include <warpaes/warpaes.hpp>

namespace lab {

struct Production::State {
    std::shared_ptr<const warpaes::Engine> engine;
    warpaes::Key key;
};

Production::Production(int device, std::span<const std::uint8_t> key)
    : state_(new State{
          std::make_shared<const warpaes::Engine>(warpaes::EngineOptions{.backend = "cuda", .device = device}),
          warpaes::Key(key)}) {}

Production::Production(const Production& other, std::span<const std::uint8_t> key)
    : state_(new State{other.state_->engine, warpaes::Key(key)}) {}

Production::~Production() = default;

void Production::enqueue(bool encrypt, std::span<const std::uint8_t> counter, const std::uint8_t* input,
                         std::uint8_t* output, std::size_t bytes, void* stream) const {
    warpaes::Message message;
    message.mode = counter.empty() ? warpaes::Mode::ecb : warpaes::Mode::ctr;
    message.direction = encrypt ? warpaes::Direction::encrypt : warpaes::Direction::decrypt;
    message.key = &state_->key;
    message.iv = counter;
    message.input = {input, bytes};
    message.output = {output, bytes};
    state_->engine->crypt_async(message, stream);
}

}  // namespace lab
