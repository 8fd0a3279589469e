// `warpaes provider`: tests the provider, adds it to OpenSSL's configuration, and removes it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "command.hpp"
#include "elsewhere.hpp"
#include "progress.hpp"
#include "provider_config.hpp"
#include "record.hpp"

namespace cli {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* provider_help = R"(Usage: warpaes provider install|check|remove|stats [options]

Configures OpenSSL 3 so that programs that use it run AES with warpaes.

  install                add a block to openssl.cnf that activates warpaes and
                         OpenSSL's default provider, and prefers warpaes. The
                         command first tests the block in a child process
  check                  test the configuration in a child process, and print
                         the kernels in use
  remove                 remove the block
  stats                  print the provider's counters, summed over all
                         programs, if the configuration names a counters file
                         (also `warpaes provider-stats`)

  --backend NAME         install: auto or one that `warpaes devices` lists;
                         libcrypto leaves everything to OpenSSL
  --cbc                  install: also provide CBC
  --config FILE          use this openssl.cnf; default: the openssl.cnf of
                         `openssl`
  --counters FILE        install: count in this file; stats: read it
  --json                 check, stats: print a JSON record
  --module FILE          install: the path of warpaes.so; default: the module
                         installed with this program
  --threads N            install: threads for long updates; auto: the fastest
                         number of threads. Default: 1
  --threshold BYTES      install: minimum length of updates that may use several
                         threads or a GPU

As root, `install` refuses a module that other users can replace. Install
warpaes where only root can write.

Examples
  sudo warpaes provider install
  warpaes provider check
)";

struct ProviderOptions {
    std::string verb, config, module, counters, backend, threads, threshold;
    bool cbc = false, json = false;
};

struct Ran {
    int status = -1;
    std::string out;
};

/// Runs `openssl` with these arguments and the configuration `config`, or with its default configuration if `config` is
/// empty. Returns standard output and standard error as one text.
Ran openssl(const std::vector<std::string>& arguments, const std::string& config, const std::string& input = "") {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
        throw Failure(WARPAES_ERROR_INTERNAL, fmt::format("cannot create a pipe: {}", std::strerror(errno)));
    }
    std::vector<std::string> words{"openssl"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw Failure(WARPAES_ERROR_INTERNAL, fmt::format("cannot fork: {}", std::strerror(errno)));
    if (child == 0) {
        if (!config.empty()) (void)::setenv("OPENSSL_CONF", config.c_str(), 1);
        (void)::dup2(in[0], STDIN_FILENO);
        (void)::dup2(out[1], STDOUT_FILENO);
        (void)::dup2(out[1], STDERR_FILENO);
        ::execvp(argv[0], argv.data());
        ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    // The input fits in a pipe's buffer.
    (void)!::write(in[1], input.data(), input.size());
    ::close(in[1]);
    Ran ran;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::read(out[0], buffer.data(), buffer.size())) > 0 || (n < 0 && errno == EINTR);) {
        if (n > 0) ran.out.append(buffer.data(), static_cast<std::size_t>(n));
    }
    ::close(out[0]);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (ran.status == 127) {
        throw Failure(WARPAES_ERROR_NOT_FOUND,
                      "the `openssl` command, which tests the configuration, is not installed; install it");
    }
    return ran;
}

/// Returns the path between the quotes in the output of `openssl version -d` or `-m`.
std::string folder_of_openssl(const char* which) {
    const std::string text = openssl({"version", which}, "/dev/null").out;
    const auto first = text.find('"'), last = text.rfind('"');
    if (first == std::string::npos || last <= first) {
        throw Failure(WARPAES_ERROR_NOT_FOUND,
                      "openssl does not report the path of its configuration; give --config FILE");
    }
    return text.substr(first + 1, last - first - 1);
}

/// Returns the command that removes the block which `install` wrote.
std::string removal(const ProviderOptions& options) {
    return "warpaes provider remove" + (options.config.empty() ? "" : " --config '" + one_line(options.config) + "'");
}

std::string config_of(const ProviderOptions& options) {
    std::string path = options.config;
    if (path.empty()) {
        const char* const variable = std::getenv("OPENSSL_CONF");
        path = variable != nullptr && *variable != '\0' ? variable : folder_of_openssl("-d") + "/openssl.cnf";
    }
    std::error_code unknown;
    const fs::path real = fs::canonical(path, unknown);
    if (unknown) {
        throw Failure(WARPAES_ERROR_NOT_FOUND,
                      fmt::format("'{}': {}; give --config FILE", path, unknown.message()) + did_you_mean_file(path));
    }
    return real;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) throw Failure(WARPAES_ERROR_READ, fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
    return text.str();
}

std::string module_of(const ProviderOptions& options) {
    std::vector<fs::path> places;
    if (!options.module.empty()) {
        places = {options.module};
    } else {
        const fs::path folder = neighbour("warpaes").parent_path();
        places = {folder / "../lib/ossl-modules/warpaes.so", folder / "../provider/warpaes.so"};
        std::error_code unknown;
        for (const auto& entry : fs::directory_iterator(folder / "../lib", unknown)) {
            places.push_back(entry.path() / "ossl-modules/warpaes.so");
        }
        places.emplace_back(folder_of_openssl("-m") + "/warpaes.so");
    }
    for (const fs::path& place : places) {
        std::error_code unknown;
        if (fs::is_regular_file(place, unknown)) return fs::canonical(place);
    }
    throw Failure(WARPAES_ERROR_NOT_FOUND, options.module.empty()
                                               ? "warpaes.so is not installed with this program; give --module FILE"
                                               : fmt::format("--module: the file '{}' does not exist", options.module));
}

/// Throws Failure if root's configuration would load a module that another user can replace. All programs that root
/// runs execute the module's code.
void refuse_replaceable_module(const std::string& config, const std::string& module) {
    struct stat status {};
    if (::stat(config.c_str(), &status) != 0 || status.st_uid != 0) return;
    const auto objection = objection_to_root_only(module);
    if (!objection) return;
    throw Failure(
        WARPAES_ERROR_STATE,
        fmt::format(
            "module '{}': {}, so another user could run code in root's programs. Install the module where only root "
            "can write, as `sudo make install` and the package do, or copy it to such a place and give --module FILE",
            module, *objection));
}

/// A new file next to `path`. It replaces `path` or is removed.
class Replacement {
public:
    Replacement(const std::string& path, const std::string& text)
        : path_(path), name_(fs::path(path).parent_path() / ".warpaes-XXXXXX") {
        const int file = ::mkstemp(name_.data());
        struct stat before {};
        const bool made = file >= 0 && ::stat(path.c_str(), &before) == 0 &&
                          ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                          ::fchmod(file, before.st_mode & 07777) == 0 &&
                          (::fchown(file, before.st_uid, before.st_gid) == 0 || ::geteuid() != 0) && ::fsync(file) == 0;
        const int error = errno;
        if (file >= 0) ::close(file);
        if (made) return;
        if (file >= 0) (void)::unlink(name_.c_str());
        throw Failure(WARPAES_ERROR_WRITE,
                      fmt::format("cannot create a file next to '{}': {}; run this command as the owner, usually root",
                                  path, std::strerror(error)));
    }
    Replacement(const Replacement&) = delete;
    Replacement& operator=(const Replacement&) = delete;
    ~Replacement() {
        if (!name_.empty()) (void)::unlink(name_.c_str());
    }
    [[nodiscard]] const std::string& name() const { return name_; }
    void take_its_place() {
        if (::rename(name_.c_str(), path_.c_str()) != 0) {
            throw Failure(WARPAES_ERROR_WRITE, fmt::format("cannot replace '{}': {}", path_, std::strerror(errno)));
        }
        name_.clear();
    }

private:
    std::string path_, name_;
};

/// The contents of a file of counters (provider/counters.hpp).
struct Counts {
    static constexpr std::array<const char*, 15> kinds{"ECB", "CBC", "CFB", "CFB8",    "CFB1", "OFB",  "CTR", "XTS",
                                                       "GCM", "CCM", "SIV", "GCM-SIV", "WRAP", "CMAC", "GMAC"};
    static constexpr std::array<const char*, 4> wheres{"kernels", "threads", "gpu", "delegated"};
    static constexpr std::size_t words = 2 + kinds.size() * wheres.size() * 2;

    std::array<std::uint64_t, words> numbers{};

    explicit Counts(const std::string& path) {
        const std::string data = read_file(path);
        constexpr std::string_view mark = "warpaes1";
        // No process has counted a call since the file was created or truncated.
        if (data.size() < sizeof numbers && mark.substr(0, data.size()) == data.substr(0, mark.size())) return;
        if (data.size() != sizeof numbers || data.compare(0, mark.size(), mark) != 0) {
            throw Failure(WARPAES_ERROR_FORMAT, fmt::format("'{}' is not a counters file of the provider", path));
        }
        std::memcpy(numbers.data(), data.data(), sizeof numbers);
    }
    [[nodiscard]] std::uint64_t loads() const { return numbers[1]; }
    [[nodiscard]] std::uint64_t calls(std::size_t kind, std::size_t where) const {
        return numbers[2 + 2 * (kind * wheres.size() + where)];
    }
    [[nodiscard]] std::uint64_t bytes(std::size_t kind, std::size_t where) const {
        return numbers[3 + 2 * (kind * wheres.size() + where)];
    }
};

struct Checked {
    std::string wrong;  ///< a sentence; empty if no fault was found
    std::string build_info;
    std::vector<std::string> unknown;  ///< parameters in the provider's section that the provider does not support
    std::vector<std::string> idle;     ///< settings that have no effect on this machine
};

/// Warns about unknown parameters. The provider cannot warn about them, because OpenSSL passes it only the parameters
/// that it requests.
std::vector<std::string> unknown_parameters(const OpensslConfig& config) {
    // OpenSSL itself uses the first four names.
    const std::vector<std::string> known{"identity", "soft_load", "module",        "activate", "backend", "threshold",
                                         "threads",  "device",    "device-memory", "cbc",      "counters"};
    std::vector<std::string> unknown;
    const std::string section = config.section_of_provider();
    for (const std::string& name : config.names(section)) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        unknown.push_back(name);
        warn(fmt::format("[{}]: '{}' is not a parameter of the provider, which ignores it{}", section, name,
                         did_you_mean(name, known)));
    }
    return unknown;
}

/// Returns the settings that name an unusable GPU. With such a setting, the provider silently computes on CPUs. The
/// command and the provider detect the same GPUs.
std::vector<std::string> idle_settings(const OpensslConfig& config) {
    const std::string section = config.section_of_provider();
    const std::string backend = config.value(section, "backend"), device = config.value(section, "device");
    const bool may_use_gpu = backend.empty() || backend == "auto" || is_gpu(backend);
    if (!may_use_gpu || (!is_gpu(backend) && device.empty())) return {};
    std::string why = "it has none";
    std::vector<std::string> usable;
    for (const warpaes_backend_info& info : list_backends()) {
        if (!is_gpu(info.name)) continue;
        if (info.usable != 0) usable.push_back(std::to_string(info.device));
        if (info.usable == 0) why = info.reason;
    }
    if (!is_gpu(backend) && usable.empty()) return {};  // "auto" uses a GPU only if the machine has a GPU
    if (device.empty() ? !usable.empty() : std::find(usable.begin(), usable.end(), device) != usable.end()) return {};
    const std::string name =
        device.empty() ? fmt::format("backend = {}", gpu_backend()) : fmt::format("device = {}", device);
    const std::string problem =
        usable.empty() ? fmt::format("no GPU of this machine can be used ({})", why)
                       : fmt::format("this machine has no GPU {}; `warpaes devices` lists its GPUs", device);
    return {fmt::format("[{}]: {} has no effect, because {}; CPUs do all the work", section, name, problem)};
}

/// Tests the configuration in `path` with child processes. Checks that both providers are active, that common
/// operations work, that AES returns the correct result, and that warpaes computed this result.
Checked check_config(const std::string& path) {
    Checked checked;
    const OpensslConfig config(read_file(path), path);
    checked.unknown = unknown_parameters(config);
    checked.idle = idle_settings(config);
    for (const std::string& sentence : checked.idle) warn(sentence);
    const auto wrong = [&](const std::string& sentence) {
        checked.wrong = sentence;
        return checked;
    };
    const Ran list = openssl({"list", "-providers", "-verbose"}, path);
    if (list.status != 0) return wrong("`openssl list -providers` fails: " + one_line(list.out));
    const auto at = list.out.find("\n  warpaes\n");
    if (at == std::string::npos) return wrong("the warpaes provider is not active");
    if (list.out.find("\n  default\n") == std::string::npos) {
        return wrong("the default provider is not active, so programs would lack most algorithms");
    }
    constexpr std::string_view mark = "build info: ";
    if (const auto info = list.out.find(mark, at); info != std::string::npos) {
        checked.build_info = list.out.substr(info + mark.size(), list.out.find('\n', info) - info - mark.size());
    }
    if (checked.build_info.find("offers nothing") != std::string::npos) return wrong(checked.build_info);
    for (const std::vector<std::string>& used :
         {std::vector<std::string>{"rand", "-hex", "8"}, {"genpkey", "-algorithm", "ED25519"}, {"ciphers", "-s"}}) {
        const Ran ran = openssl(used, path);
        if (ran.status != 0) return wrong(fmt::format("`openssl {}` fails: {}", used.front(), ran.out));
    }
    // Runs SP 800-38A, F.5.1, with counters in a temporary file.
    std::string name = (fs::temp_directory_path() / "warpaes-check-XXXXXX").string(), counters = name;
    const int file = ::mkstemp(name.data()), other = ::mkstemp(counters.data());
    if (file < 0 || other < 0) throw Failure(WARPAES_ERROR_WRITE, "cannot create a temporary file");
    ::close(file);
    ::close(other);
    struct Remove {
        std::array<const char*, 2> names;
        ~Remove() {
            for (const char* n : names) (void)::unlink(n);
        }
    } const remove{{name.c_str(), counters.c_str()}};
    // The test's configuration includes the tested configuration, so that relative includes in the latter still work.
    std::ofstream(name) << ".include = " << path << "\n"
                        << fmt::format("[{}]\ncounters = {}\n", config.section_of_provider(), counters);
    const std::string plain = "\x6b\xc1\xbe\xe2\x2e\x40\x9f\x96\xe9\x3d\x7e\x11\x73\x93\x17\x2a";
    const Ran sealed = openssl(
        {"enc", "-aes-128-ctr", "-K", "2b7e151628aed2a6abf7158809cf4f3c", "-iv", "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"},
        name, plain);
    if (sealed.status != 0 || sealed.out != "\x87\x4d\x61\x91\xb6\x20\xe3\x26\x1b\xef\x68\x64\x99\x0d\xb6\xce") {
        return wrong("AES-128-CTR returns a wrong result");
    }
    constexpr std::size_t ctr = 6;
    if (Counts(counters).bytes(ctr, 0) == 0) return wrong("AES works, but a different provider computes it");
    return checked;
}

int install(const ProviderOptions& options) {
    const std::string path = config_of(options), before = read_file(path), module = module_of(options);
    refuse_replaceable_module(path, module);
    std::vector<std::pair<std::string, std::string>> parameters;
    const auto given = [&](const char* name, const std::string& value) {
        if (!value.empty()) parameters.emplace_back(name, value);
    };
    given("backend", options.backend);
    given("cbc", options.cbc ? "yes" : "");
    given("counters", options.counters.empty() ? "" : fs::absolute(options.counters).string());
    given("threads", options.threads);
    given("threshold", options.threshold);
    const std::string text = with_provider(before, path, module, parameters);
    Replacement next(path, text);
    if (options.backend != "libcrypto") {
        const Checked checked = check_config(next.name());
        if (!checked.wrong.empty()) {
            throw Failure(WARPAES_ERROR_STATE, fmt::format("'{}' is unchanged: {}", path, checked.wrong));
        }
        note(fmt::format("tested: {}\n", one_line(checked.build_info)));
    }
    next.take_its_place();
    note(
        fmt::format("'{}' now activates the providers `default` and `warpaes`, and prefers `warpaes`. Programs that "
                    "start from now on use it.\nTo undo this change, run `{}`.\n",
                    one_line(path), removal(options)));
    return 0;
}

int remove_block(const ProviderOptions& options) {
    const std::string path = config_of(options), before = read_file(path), text = without_provider(before);
    if (text == before) {
        note(fmt::format("'{}' contains no block of warpaes; nothing was changed\n", one_line(path)));
        return 0;
    }
    Replacement(path, text).take_its_place();
    note(fmt::format("the block of warpaes was removed from '{}'\n", one_line(path)));
    return 0;
}

int check_installed(const ProviderOptions& options) {
    const std::string path = config_of(options);
    const OpensslConfig config(read_file(path), path);
    const std::string module = config.value(config.section_of_provider(), "module");
    if (module.starts_with('/')) {
        std::error_code unknown;
        if (!fs::exists(module, unknown)) {  // for example, its package was removed
            throw Failure(WARPAES_ERROR_NOT_FOUND,
                          fmt::format("'{}' names the module '{}', which does not exist, so OpenSSL ignores it; "
                                      "`{}` removes the block",
                                      path, module, removal(options)));
        }
        refuse_replaceable_module(path, fs::weakly_canonical(module));
    }
    const Checked checked = check_config(path);
    if (options.json) {
        print_json({{"config", path},
                    {"works", checked.wrong.empty()},
                    {"build_info", checked.build_info},
                    {"unknown", checked.unknown},
                    {"idle", checked.idle},
                    {"reason", checked.wrong}},
                   2);
    }
    if (!checked.wrong.empty()) throw Failure(WARPAES_ERROR_STATE, fmt::format("'{}': {}", path, checked.wrong));
    if (!options.json) {
        fmt::print("{}: works{}, {}\n", one_line(path), checked.idle.empty() ? "" : " on CPUs",
                   one_line(checked.build_info));
    }
    return 0;
}

int stats(const ProviderOptions& options) {
    std::string counters = options.counters;
    if (counters.empty()) {
        const std::string path = config_of(options);
        const OpensslConfig config(read_file(path), path);
        counters = config.value(config.section_of_provider(), "counters");
        if (counters.empty()) {
            throw Failure(
                WARPAES_ERROR_NOT_FOUND,
                fmt::format("'{}' does not name a counters file; `warpaes provider install --counters FILE` adds one",
                            path));
        }
    }
    const Counts counts(counters);
    json list = json::array();
    if (!options.json) {
        fmt::print("{}: loaded {} times\n{:<9}{:<11}{:>14}  {}\n", one_line(counters), counts.loads(), "mode", "where",
                   "calls", "bytes");
    }
    for (std::size_t kind = 0; kind < Counts::kinds.size(); ++kind) {
        for (std::size_t where = 0; where < Counts::wheres.size(); ++where) {
            const std::uint64_t calls = counts.calls(kind, where), bytes = counts.bytes(kind, where);
            if (calls == 0) continue;
            if (options.json) {
                list.push_back({{"mode", Counts::kinds[kind]},
                                {"where", Counts::wheres[where]},
                                {"calls", calls},
                                {"bytes", bytes}});
            } else {
                fmt::print("{:<9}{:<11}{:>14}  {}\n", Counts::kinds[kind], Counts::wheres[where], calls,
                           human_bytes(static_cast<double>(bytes)));
            }
        }
    }
    if (options.json) print_json({{"loads", counts.loads()}, {"counts", list}}, 2);
    return 0;
}

}  // namespace

int run_provider(int argc, char** argv) {
    ProviderOptions o;
    CLI::App app;
    app.add_option("verb", o.verb);
    app.add_option("--config", o.config);
    app.add_option("--module", o.module);
    app.add_option("--counters", o.counters);
    app.add_option("--backend", o.backend);
    app.add_option("--threads", o.threads);
    app.add_option("--threshold", o.threshold);
    app.add_flag("--cbc", o.cbc);
    app.add_flag("--json", o.json);
    if (!parse_options(app, argc, argv, provider_help)) return 0;
    if (o.verb.empty())
        throw UsageError("no action; give install, check, remove or stats, or see `warpaes provider --help`");
    const std::vector<std::string> verbs{"install", "check", "remove", "stats"};
    if (std::find(verbs.begin(), verbs.end(), o.verb) == verbs.end()) {
        throw UsageError(fmt::format("provider: '{}' is not install, check, remove or stats{}", o.verb,
                                     did_you_mean(o.verb, verbs)));
    }
    const auto is_for = [&](const char* option, std::initializer_list<std::string_view> taken_by) {
        if (app.count(option) == 0) return;
        if (std::find(taken_by.begin(), taken_by.end(), o.verb) != taken_by.end()) return;
        throw UsageError(fmt::format("{}: has no effect on `provider {}`; omit it", option, o.verb));
    };
    for (const char* option : {"--module", "--backend", "--threads", "--threshold", "--cbc"})
        is_for(option, {"install"});
    is_for("--counters", {"install", "stats"});
    is_for("--json", {"check", "stats"});
    if (o.verb == "install") return install(o);
    if (o.verb == "remove") return remove_block(o);
    if (o.verb == "check") return check_installed(o);
    return stats(o);
}

}  // namespace cli
