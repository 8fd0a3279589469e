#include "kek.hpp"

#include <CLI/CLI.hpp>

namespace cli {

void KekOptions::add(CLI::App& app) {
    CLI::Option* kek = app.add_option("--kek", place);
    app.add_option("--kek-aad", aad)->needs(kek);
}

std::shared_ptr<const Kek> KekOptions::take() const {
    if (!*read) *read = std::make_shared<const Kek>(Kek{read_key_place(option, *place), aad.value_or("")});
    return *read;
}

}  // namespace cli
